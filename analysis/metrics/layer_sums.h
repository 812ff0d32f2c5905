#pragma once

#include "analysis/metrics/metric.h"
#include "analysis/model/kernels.h"
#include "analysis/model/model.h"
#include "analysis/running/layer_observer.h"
#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

namespace secateur {

// The sums of forward metrics over the tokens of a layer. For sources only: pulls in ATen.

/// Sums over tokens and sequences of a layer. Vectors of length 0 have no direction: they count as a cosine of 0.5.
enum class TokenSum {
    rows,         ///< sequences that have tokens
    tokens,       ///< all of them
    updates,      ///< those to which attention added something
    input,        ///< |x|
    update,       ///< |a|
    attention,    ///< 1 - cos of the stream before and after attention
    attentionSum, ///< the same for post-norm models, before the norm
    mlp,          ///< 1 - cos of the stream before and after the MLP
    mlpSum,       ///< the same for post-norm models, before the norm
    block,        ///< 1 - cos(x, z)
    undirected,   ///< pairs of vectors of which one has length 0
    pairs,        ///< sequences of at least two tokens
    similarity,   ///< sum over these sequences
    spread,       ///< sum over these sequences
};
inline constexpr auto tokenSums = static_cast<std::size_t>(TokenSum::spread) + 1;

/// Columns of a projection's input.
struct ColumnTotals {
    std::vector<double> magnitudes; ///< means over each sequence, summed over sequences
    std::vector<double> sums;       ///< over tokens
    std::vector<double> squares;    ///< over tokens

    void add(const ColumnTotals& other);
};

/// Over all positions, or without the first.
struct PartSums {
    std::array<double, tokenSums> tokens{};
    ColumnTotals context;
    ColumnTotals neurons;
    std::vector<double> contributions; ///< by head: means over each sequence, summed over sequences

    double& at(TokenSum which) { return tokens[static_cast<std::size_t>(which)]; }
    double at(TokenSum which) const { return tokens[static_cast<std::size_t>(which)]; }
};

/// Additive: batches may come in any order, and some may be missing.
struct LayerSums {
    std::array<PartSums, 2> parts;        ///< [whether position 0 is left out]
    std::vector<std::vector<double>> own; ///< by request, of metrics with sums of their own

    void add(const LayerSums& other);
};

/// The batch at one tap of a layer, as ForwardMetric::accumulate() sees it.
struct TappedBatch {
    const MetricRequest& request;
    const ModelSpec& spec;
    int layer;
    const KeptUnits& kept;
    Tap tap;
    const at::Tensor& values;     ///< as Tap says; inputs of projections in the plan's type
    std::span<const int> lengths; ///< tokens of each row; positions behind them hold anything
};

/// Of the columns of a matrix [hidden, width].
struct ColumnSizes {
    std::vector<double> magnitudes; ///< mean_o |W_oj|
    std::vector<double> squares;    ///< sum_o W_oj^2
};

/// Statistics of the output and down projections; each matrix is read once.
class WritingWeights {
public:
    /// @param type of the products with the columns of heads
    /// @param keeps whether columns of heads stay in memory between batches
    WritingWeights(const Model& model, ComputeType type, bool keeps)
        : m_model(model)
        , m_type(type)
        , m_keeps(keeps) {}

    const ColumnSizes& columns(int layer, WeightName which);
    /// [heads, hidden, headDim] on the device of `context`, of the kept heads: bfloat16 where products are, else
    /// float32.
    at::Tensor ofHeads(int layer, const std::vector<std::size_t>& heads, const at::Tensor& context);

private:
    const Model& m_model;
    ComputeType m_type;
    bool m_keeps;
    std::map<std::pair<int, WeightName>, ColumnSizes> m_columns;
    std::map<int, at::Tensor> m_heads;
};

/// A layer whose sums are complete, as ForwardMetric::finish() sees it.
struct ForwardLayer {
    const MetricRequest& request;
    const ModelSpec& spec;
    int layer;
    const KeptUnits& kept;
    const PartSums& part;        ///< without position 0 where the request has exclude_first=true
    std::span<const double> own; ///< the metric's own sums; empty where it has none
    WritingWeights& weights;
};

/// The whole pass, as ForwardMetric::notes() sees it.
struct ForwardPass {
    const ModelSpec& spec;
    int narrowLayers = 0;  ///< layers whose window is shorter than the longest sequence
    double undirected = 0; ///< TokenSum::undirected of all layers
};

/// The norm behind a sublayer of a post-norm model, in float64; undefined where there is none.
struct SumNorm {
    at::Tensor weight;
    at::Tensor bias;
    double epsilon = 0;
};

/// The streams of a layer, [rows, positions, hidden].
struct LayerStreams {
    at::Tensor input;
    at::Tensor update;    ///< the attention update; undefined = none
    at::Tensor mlpUpdate; ///< where a request has before_norm=true; else undefined
    at::Tensor output;
};

struct StreamWishes {
    bool cosines = false;    ///< and lengths
    bool similarity = false; ///< and spread
};

/// Counts the tokens of a batch.
void addRows(std::span<const int> lengths, LayerSums& sums);

/// Adds the lengths and cosines of a batch. @param norms behind attention and MLP, of NormPlace::after
void addStreams(const TokenKernels& kernels, const LayerStreams& streams, std::span<const int> lengths, NormPlace place,
                const std::array<SumNorm, 2>& norms, const StreamWishes& wishes, LayerSums& sums);

/// Adds the columns of [rows, positions, width]. @param totals of a PartSums
void addColumns(const TokenKernels& kernels, const at::Tensor& values, std::span<const int> lengths,
                ColumnTotals PartSums::*totals, LayerSums& sums);

/// Adds the norms of what each head adds: context [rows, positions, heads, headDim], weights [heads, hidden, headDim].
void addContributions(const TokenKernels& kernels, const at::Tensor& context, const at::Tensor& weights,
                      std::span<const int> lengths, LayerSums& sums);

} // namespace secateur
