#pragma once

#include "analysis/metrics/attention_metrics.h"
#include "analysis/model/model_spec.h"
#include "analysis/model/kernels.h"

#include <ATen/core/Tensor.h>

#include <array>
#include <span>
#include <vector>

namespace secateur {

// What forward metrics keep of a layer. For sources only: pulls in ATen.

/// Sums over tokens and sequences of a layer. Vectors of no length have no direction: they count as turned by half.
enum class TokenSum {
    rows,         ///< sequences that have tokens
    tokens,       ///< all of them
    updates,      ///< those to which attention added something
    input,        ///< |x|
    update,       ///< |a|
    attention,    ///< 1 - cos of what attention turns
    attentionSum, ///< the same of encoders' sums before their norm
    mlp,          ///< 1 - cos of what the MLP turns
    mlpSum,       ///< the same of encoders' sums before their norm
    block,        ///< 1 - cos(x, z)
    undirected,   ///< pairs of vectors of which one has no length
    pairs,        ///< sequences of two tokens at least
    similarity,   ///< of those
    spread,       ///< of those
};
inline constexpr auto tokenSums = static_cast<std::size_t>(TokenSum::spread) + 1;

/// Columns of what a projection reads.
struct ColumnTotals {
    std::vector<double> magnitudes; ///< means over each sequence, summed over sequences
    std::vector<double> sums;       ///< over tokens
    std::vector<double> squares;    ///< over tokens

    void add(const ColumnTotals& other);
};

/// With all positions, or without the first.
struct PartSums {
    std::array<double, tokenSums> tokens{};
    ColumnTotals context;
    ColumnTotals neurons;
    std::vector<double> contributions; ///< by head: means over each sequence, summed over sequences

    double& at(TokenSum which) { return tokens[static_cast<std::size_t>(which)]; }
    double at(TokenSum which) const { return tokens[static_cast<std::size_t>(which)]; }
};

/// Everything is additive: batches may come in any order, and be left out.
struct LayerSums {
    std::array<PartSums, 2> parts;              ///< [whether position 0 is left out]
    std::vector<std::vector<double>> attention; ///< by metric of attention

    void add(const LayerSums& other);
};

/// What an encoder norms its sums with, float64; undefined where there is no such norm.
struct SumNorm {
    at::Tensor weight;
    at::Tensor bias;
    double epsilon = 0;
};

/// The streams of a layer, [rows, positions, hidden].
struct LayerStreams {
    at::Tensor input;
    at::Tensor update;    ///< of attention; undefined = none
    at::Tensor mlpUpdate; ///< where encoders' sums are asked for; else undefined
    at::Tensor output;
};

struct StreamWishes {
    bool turns = false;      ///< lengths and cosines
    bool similarity = false; ///< and spread
};

/// Counts the tokens of a batch.
void addRows(std::span<const int> lengths, LayerSums& sums);

/// Adds what the tokens of a batch come to. @param norms behind attention and MLP, of NormPlace::after
void addStreams(const TokenKernels& kernels, const LayerStreams& streams, std::span<const int> lengths, NormPlace place,
                const std::array<SumNorm, 2>& norms, const StreamWishes& wishes, LayerSums& sums);

/// Adds the columns of [rows, positions, width]. @param totals of a PartSums
void addColumns(const TokenKernels& kernels, const at::Tensor& values, std::span<const int> lengths,
                ColumnTotals PartSums::*totals, LayerSums& sums);

/// Adds what heads add: context [rows, positions, heads, headDim], weights [heads, hidden, headDim].
void addContributions(const TokenKernels& kernels, const at::Tensor& context, const at::Tensor& weights,
                      std::span<const int> lengths, LayerSums& sums);

} // namespace secateur
