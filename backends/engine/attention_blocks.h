#pragma once

#include "backends/engine/layer_math.h"

namespace secateur {

/// Passes attention probabilities to the observer, a few heads and queries at a time. The map of all heads is never in
/// memory as a whole. For sources only: includes ATen.
/// @param queries [rows, heads, positions, headDim], rotated @param keys [rows, kvHeads, capacity, headDim], rotated
void showAttention(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input,
                   TapObserver& observer);

/// Computes the requested attention features with ATen and passes them to the observer. Arguments are those of
/// showAttention().
void showAttentionFeatures(const at::Tensor& queries, const at::Tensor& keys, const AttentionInput& input,
                           TapObserver& observer);

/// Queries, keys and values, [rows, positions, heads, headDim].
struct ProjectedHeads {
    at::Tensor queries;
    at::Tensor keys;
    at::Tensor values;
    bool perHead; ///< whether keys and values are copied for each query head, so that each head has its own gradient
};

/// Splits the output of the query, key and value projections, and passes requested parts to the observer.
/// @param projected [tokens, (heads + 2 kvHeads) headDim]
ProjectedHeads projectedHeads(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer);

/// Whether each query sees each key, bool [rows, 1, queries, keys], for queries from `firstQuery` on. Every query sees
/// at least one key.
at::Tensor visibleTo(const AttentionInput& input, std::int64_t firstQuery, std::int64_t queries, std::int64_t keys,
                     const at::Device& device);

/// Number of keys up to the last position that is not padding in any row. Includes keys in the cache.
std::int64_t keyCount(const AttentionInput& input);

/// For each kept query head, the index of its KV head among the kept KV heads: [heads] int64.
at::Tensor kvHeadOf(const PlanLayer& layer, const at::Device& device);

} // namespace secateur
