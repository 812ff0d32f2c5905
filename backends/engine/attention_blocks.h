#pragma once

#include "backends/engine/layer_math.h"

namespace secateur {

/// Passes attention probabilities to the observer, a few heads and queries at a time, so that the map of all heads
/// never exists at once. For sources only: pulls in ATen.
/// @param queries [rows, heads, positions, headDim], rotated @param keys [rows, kvHeads, capacity, headDim], rotated
void showAttention(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input,
                   TapObserver& observer);

/// Computes the wanted attention features by ATen and passes them to the observer. Arguments as in showAttention().
void showAttentionFeatures(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input,
                           TapObserver& observer);

/// Queries, keys and values, [rows, positions, heads, headDim].
struct ProjectedHeads {
    at::Tensor queries;
    at::Tensor keys;
    at::Tensor values;
    bool perHead; ///< whether keys and values are copied for each query head, so that each head has its own gradient
};

/// Splits the projections, and passes the wanted ones to the observer.
/// @param projected [tokens, (heads + 2 kvHeads) headDim]
ProjectedHeads projectedHeads(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer);

/// Whether each query sees each key, bool [rows, 1, queries, keys], for queries from `firstQuery` on. Every query sees
/// at least one key.
at::Tensor visibleTo(const AttentionInput& input, std::int64_t firstQuery, std::int64_t queries, std::int64_t keys,
                     const at::Device& device);

/// Number of keys up to the last real position of any row, including keys in the cache.
std::int64_t keyCount(const AttentionInput& input);

/// [heads] int64: for each kept query head, the index of its KV head among the kept ones.
at::Tensor kvHeadOf(const PlanLayer& layer, const at::Device& device);

} // namespace secateur
