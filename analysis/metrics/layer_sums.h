#pragma once

#include "analysis/base/bytes.h"
#include "analysis/masks/pruning_mask.h"
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

// The sums of forward metrics over the tokens of a layer. For sources only: includes ATen.

/// Sums over the tokens, or sequences, of a layer. x = input, a = attention update, z = output. A vector of length 0
/// has no direction: its cosines count as 0.5.
enum class TokenSum {
    rows,         ///< number of sequences that have tokens
    tokens,       ///< number of tokens
    updates,      ///< number of tokens if the layer has an attention update, else 0
    input,        ///< |x|
    update,       ///< |a|
    attention,    ///< 1 - cos of the stream before and after attention
    attentionSum, ///< like attention, before the norm of post-norm models
    mlp,          ///< 1 - cos of the stream before and after the MLP
    mlpSum,       ///< like mlp, before the norm of post-norm models
    block,        ///< 1 - cos(x, z)
    undirected,   ///< number of cosines with a vector of length 0, apart from those of normalised streams
    pairs,        ///< number of sequences of at least two tokens
    similarity,   ///< token_similarity, summed over these sequences
    spread,       ///< token_spread, summed over these sequences
};
inline constexpr auto tokenSums = static_cast<std::size_t>(TokenSum::spread) + 1;

/// Sums for each column of a projection's input.
struct ColumnTotals {
    std::vector<double> magnitudes; ///< means over each sequence, summed over sequences
    std::vector<double> sums;       ///< sum over tokens
    std::vector<double> squares;    ///< sum over tokens

    void add(const ColumnTotals& other);
};

/// Sums over all positions, or over all but the first.
struct PartSums {
    std::array<double, tokenSums> tokens{};
    ColumnTotals context;
    ColumnTotals neurons;
    std::vector<double> contributions; ///< for each head: means over each sequence, summed over sequences

    double& at(TokenSum which) { return tokens[static_cast<std::size_t>(which)]; }
    double at(TokenSum which) const { return tokens[static_cast<std::size_t>(which)]; }
};

/// All sums of a layer. They are additive: batches may come in any order, and some may be missing.
struct LayerSums {
    std::array<PartSums, 2> parts;        ///< [whether position 0 is left out]
    std::vector<std::vector<double>> own; ///< for each request, the sums of its accumulate(); empty without one

    void add(const LayerSums& other);
};

void put(Packer& packer, const LayerSums& sums);
void get(Unpacker& unpacker, LayerSums& sums);

/// A batch at one tap of a layer: the argument of ForwardMetric::accumulate().
struct TappedBatch {
    const MetricRequest& request;
    const ModelSpec& spec;
    int layer;
    const KeptUnits& kept;
    Tap tap;
    const at::Tensor& values;     ///< shape as documented at Tap; inputs of projections in the plan's type
    std::span<const int> lengths; ///< number of tokens of each row; further positions hold arbitrary values
};

/// Sizes of the columns of a matrix W [hidden, width].
struct ColumnSizes {
    std::vector<double> magnitudes; ///< mean_o |W_oj|
    std::vector<double> squares;    ///< sum_o W_oj^2
};

/// The output and down projections, for metrics that combine weights with activations. They have the weights of the
/// mask's compensation, and their columns are multiplied by its factors. Each matrix is read once.
class WritingWeights {
public:
    /// @param mask must outlive this object
    /// @param type of the products that use ofHeads()
    /// @param keeps whether the tensors of ofHeads() stay in memory between batches
    WritingWeights(const Model& model, const PruningMask& mask, ComputeType type, bool keeps)
        : m_model(model)
        , m_mask(mask)
        , m_type(type)
        , m_keeps(keeps) {}

    const ColumnSizes& columns(int layer, WeightName which);
    /// The output projection's columns of these heads, [heads, hidden, headDim], on the device of `context`. bfloat16
    /// if products are in bfloat16, else float32.
    at::Tensor ofHeads(int layer, const std::vector<std::size_t>& heads, const at::Tensor& context);

private:
    const Model& m_model;
    const PruningMask& m_mask;
    ComputeType m_type;
    bool m_keeps;
    std::map<std::pair<int, WeightName>, ColumnSizes> m_columns;
    std::map<int, at::Tensor> m_heads;
};

/// A layer whose sums are complete: the argument of ForwardMetric::finish().
struct ForwardLayer {
    const MetricRequest& request;
    const ModelSpec& spec;
    int layer;
    const KeptUnits& kept;
    const PartSums& part;        ///< without position 0 if the request has exclude_first=true
    std::span<const double> own; ///< sums of the metric's accumulate(); empty without one
    WritingWeights& weights;
};

/// Facts about a whole pass: the argument of ForwardMetric::notes().
struct ForwardPass {
    const ModelSpec& spec;
    int narrowLayers = 0;  ///< number of layers whose window is shorter than the longest sequence
    double undirected = 0; ///< sum of TokenSum::undirected over all layers
};

/// The norm after a sublayer of a post-norm model, in float64. The tensors are undefined if there is none.
struct SumNorm {
    at::Tensor weight;
    at::Tensor bias;
    double epsilon = 0;
};

/// The streams of a layer, [rows, positions, hidden].
struct LayerStreams {
    at::Tensor input;
    at::Tensor update;    ///< the attention update; undefined = none
    at::Tensor mlpUpdate; ///< defined only if a request has before_norm=true
    at::Tensor output;
};

/// The sums that addStreams() computes.
struct StreamWishes {
    bool cosines = false;    ///< cosines and norms, token by token
    bool similarity = false; ///< TokenSum::similarity and spread
};

/// Adds the numbers of rows and tokens of a batch.
void addRows(std::span<const int> lengths, LayerSums& sums);

/// Adds the sums over a batch's streams. @param norms after attention and after the MLP, for NormPlace::after
void addStreams(const TokenKernels& kernels, const LayerStreams& streams, std::span<const int> lengths, NormPlace place,
                const std::array<SumNorm, 2>& norms, const StreamWishes& wishes, LayerSums& sums);

/// Adds the column sums of values [rows, positions, width]. @param totals the member of PartSums to add to
void addColumns(const TokenKernels& kernels, const at::Tensor& values, std::span<const int> lengths,
                ColumnTotals PartSums::*totals, LayerSums& sums);

/// Adds the norm of each head's contribution to the attention output.
/// @param context [rows, positions, heads, headDim] @param weights [heads, hidden, headDim]
void addContributions(const TokenKernels& kernels, const at::Tensor& context, const at::Tensor& weights,
                      std::span<const int> lengths, LayerSums& sums);

} // namespace secateur
