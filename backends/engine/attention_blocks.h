#pragma once

#include "backends/engine/layer_math.h"

namespace secateur {

/// Passes attention probabilities to the observer, a few heads and queries at a time: the map of all heads never exists
/// at once. For sources only: pulls in ATen.
/// @param queries [rows, heads, positions, headDim], rotated @param keys [rows, kvHeads, capacity, headDim], rotated
void showAttention(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input,
                   TapObserver& observer);

/// Passes the wanted attention features to the observer, computed by ATen. Arguments as in showAttention().
void showAttentionFeatures(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input,
                           TapObserver& observer);

/// Queries, keys and values, [rows, positions, heads, headDim].
struct ProjectedHeads {
    at::Tensor queries;
    at::Tensor keys;
    at::Tensor values;
    bool perHead; ///< keys and values are copied for each query head, so that each head has its own gradient; else they
                  ///< are those of the KV heads
};

/// Splits the projections, and passes the wanted ones to the observer.
/// @param projected [tokens, (heads + 2 kvHeads) headDim]
ProjectedHeads projectedHeads(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer);

/// Which keys each query sees, bool [rows, 1, queries, keys], for queries from `firstQuery` on. Every query sees at
/// least one.
at::Tensor visibleTo(const AttentionInput& input, std::int64_t firstQuery, std::int64_t queries, std::int64_t keys,
                     const at::Device& device);

/// Number of keys, those of the cache included: up to the last real position of any row.
std::int64_t keyCount(const AttentionInput& input);

/// For each kept head the kept KV head that it reads, int64 [heads].
at::Tensor kvHeadOf(const PlanLayer& layer, const at::Device& device);

} // namespace secateur
