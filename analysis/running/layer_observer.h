#pragma once

#include "analysis/model/attention_feature.h"

#include <cstdint>
#include <limits>
#include <span>

namespace at {
class Tensor;
}

namespace secateur {

/// Places in a layer whose values can be observed. Heads and neurons are those that the plan keeps, in order.
enum class Tap {
    input,           ///< [rows, positions, hidden]: the residual stream before the layer
    attentionInput,  ///< [rows, positions, hidden]: input of the query, key and value projections
    query,           ///< [rows, positions, heads, headDim]: queries with bias, before norms and rotation
    key,             ///< keys, like query; each key head is repeated for the query heads of its KV group
    value,           ///< values, like key
    attention,       ///< [rows, heads, positions, positions]: attention probabilities; only in backward passes
    context,         ///< [rows, positions, heads, headDim]: weighted sums of values, before the output projection
    attentionOutput, ///< [rows, positions, hidden]: after the output projection, bias included
    attentionUpdate, ///< the attention update: attentionOutput after a sandwich norm and alpha, if there are any
    mlpHidden,       ///< [rows, positions, ffn]: input of the down projection
    mlpOutput,       ///< [rows, positions, hidden]: after the down projection, bias included
    mlpUpdate,       ///< the MLP update: mlpOutput after a sandwich norm, if there is one
    output,          ///< [rows, positions, hidden]: the residual stream after the layer
};

/// Consecutive kept heads of a layer. The range may go beyond the last head.
struct HeadRange {
    std::int64_t first = 0;
    std::int64_t count = std::numeric_limits<std::int64_t>::max();
};

/// Observes layers during their run. The engine computes only taps for which wants() returns true. Tensors are on the
/// model's device and float32 unless takesPlanType(). They must not be modified, and are never part of a graph. Padded
/// positions contain arbitrary values. In a layer without attention or without MLP, the taps of that sublayer are not
/// observed.
class LayerObserver {
public:
    virtual ~LayerObserver() = default;

    virtual bool wants(int layer, Tap tap) const = 0;
    /// Whether the inputs of projections (context, mlpHidden) may have the plan's type instead of float32.
    virtual bool takesPlanType() const { return false; }
    virtual void see(int layer, Tap tap, const at::Tensor& values) = 0;

    /// Whether attention probabilities are requested. They need a separate pass over the scores.
    virtual bool wantsAttention(int) const { return false; }
    /// The requested heads; the default is all.
    virtual HeadRange attentionHeads(int) const { return {}; }
    /// Called with each block of probabilities, [rows, heads of the block, queries of the block, keys]. The probability
    /// is 0 for keys that a query does not see.
    virtual void seeAttention(int, std::int64_t /*firstHead*/, std::int64_t /*firstQuery*/, const at::Tensor&) {}

    /// The requested features of each query's attention. They take far less time than probabilities.
    virtual std::span<const AttentionFeature> attentionFeatures(int) const { return {}; }
    /// Called with the features, [rows, heads, features, positions], in the order of attentionFeatures().
    virtual void seeAttentionFeatures(int, const at::Tensor&) {}
};

} // namespace secateur
