#pragma once

#include "analysis/model/attention_feature.h"

#include <cstdint>
#include <span>

namespace at {
class Tensor;
}

namespace secateur {

/// Places in a layer whose values can be observed. Heads and neurons are those that the plan keeps, in order.
enum class Tap {
    input,           ///< [rows, positions, hidden]: the residual stream before the layer
    attentionInput,  ///< [rows, positions, hidden]: input of the query, key and value projections
    query,           ///< [rows, positions, heads, headDim]: as projected, bias included, before norms and rotation
    key,             ///< the same for keys, repeated for each query head of a KV group
    value,           ///< the same for values, repeated likewise
    attention,       ///< [rows, heads, positions, positions]: attention probabilities; only in backward passes
    context,         ///< [rows, positions, heads, headDim]: weighted sums of values, before the output projection
    attentionOutput, ///< [rows, positions, hidden]: after the output projection, bias included
    attentionUpdate, ///< the attention update: attentionOutput after a sandwich norm and alpha, if there are any
    mlpHidden,       ///< [rows, positions, ffn]: input of the down projection
    mlpOutput,       ///< [rows, positions, hidden]: after the down projection, bias included
    mlpUpdate,       ///< the MLP update: mlpOutput after a sandwich norm, if there is one
    output,          ///< [rows, positions, hidden]: the residual stream after the layer
};

/// Observes layers while they run. The engine computes only taps that wants() asks for. Tensors are on the model's
/// device, float32 unless takesPlanType(), must not be modified, and are never part of a graph. Padded positions hold
/// arbitrary values. A layer without attention, or without MLP, does not reach the taps inside it.
class LayerObserver {
public:
    virtual ~LayerObserver() = default;

    virtual bool wants(int layer, Tap tap) const = 0;
    /// Whether the inputs of projections (context, mlpHidden) may come in the plan's type, not converted to float32.
    virtual bool takesPlanType() const { return false; }
    virtual void see(int layer, Tap tap, const at::Tensor& values) = 0;

    /// Whether attention probabilities are wanted: they take a separate pass over the scores.
    virtual bool wantsAttention(int) const { return false; }
    /// Called with each block of probabilities: [rows, heads of the block, queries of the block, keys]; 0 for keys that
    /// a query does not see.
    virtual void seeAttention(int, std::int64_t /*firstHead*/, std::int64_t /*firstQuery*/, const at::Tensor&) {}

    /// The wanted features of each query's attention, which cost far less than probabilities.
    virtual std::span<const AttentionFeature> attentionFeatures(int) const { return {}; }
    /// Called with the features, [rows, heads, features, positions], in the order of attentionFeatures().
    virtual void seeAttentionFeatures(int, const at::Tensor&) {}
};

} // namespace secateur
