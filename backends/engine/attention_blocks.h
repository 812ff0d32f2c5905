#pragma once

#include "backends/engine/layer_math.h"

namespace secateur {

/// Shows attention probabilities a few heads and queries at a time: the map of all heads never exists at once. For
/// sources only: pulls in ATen.
/// @param queries [rows, heads, positions, headDim], turned @param keys [rows, kvHeads, capacity, headDim]
void showAttention(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input, Watch& watch);

/// The numbers of each query's attention that are wanted, by ATen. Arguments as of showAttention().
void showAttentionFeatures(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input,
                           Watch& watch);

/// What attention reads, [rows, positions, heads, headDim].
struct ProjectedHeads {
    at::Tensor queries;
    at::Tensor keys; ///< of KV heads, or
    at::Tensor values;
    bool perHead; ///< of query heads, which see copies of one: where somebody asks for them, so that each head's share
                  ///< of a gradient is its own
};

/// Shows them to whoever wants them. @param projected [tokens, (heads + 2 kvHeads) headDim]
ProjectedHeads projectedHeads(const at::Tensor& projected, const AttentionInput& input, Watch& watch);

/// Which key each query sees, [rows, 1, queries, keys], for queries from `firstQuery` on. Every query sees one at
/// least.
at::Tensor visibleTo(const AttentionInput& input, std::int64_t firstQuery, std::int64_t queries, std::int64_t keys,
                     const at::Device& device);

/// Keys that there are, those of the cache included: up to the last real position of any row.
std::int64_t endOf(const AttentionInput& input);

/// [heads] the kept KV head that each kept head reads.
at::Tensor kvHeadOf(const PlanLayer& layer, const at::Device& device);

} // namespace secateur
