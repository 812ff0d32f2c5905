#pragma once

#include "analysis/model/attention_feature.h"

#include <cstdint>
#include <span>

namespace at {
class Tensor;
}

namespace secateur {

/// Places in a layer. Heads are those that the plan keeps, in order; widths likewise.
enum class Tap {
    input,           ///< [rows, positions, hidden]: the residual stream that enters
    attentionInput,  ///< [rows, positions, hidden]: what queries, keys and values are projected from
    query,           ///< [rows, positions, heads, headDim]: as projected, bias included, before norms and rotation
    key,             ///< the same, per query head: heads of a KV group see copies of one
    value,           ///< the same
    attention,       ///< [rows, heads, positions, positions]: probabilities as they weigh values; backward alone has it
    context,         ///< [rows, positions, heads, headDim]: what each head gathers, before the output projection
    attentionOutput, ///< [rows, positions, hidden]: behind the output projection, bias included
    attentionUpdate, ///< what attention adds to the stream: behind a post-norm and alpha, where there are such
    mlpHidden,       ///< [rows, positions, ffn]: what the down projection reads
    mlpOutput,       ///< [rows, positions, hidden]: behind the down projection
    mlpUpdate,       ///< what the MLP adds to the stream
    output,          ///< [rows, positions, hidden]: the stream that leaves
};

/// Looks at layers while they run. The engine computes nothing that nobody wants. Tensors are float32, unless the
/// observer says otherwise, on the model's device, must not be written to, and are never part of a graph. Padded
/// positions hold anything. A layer without attention or MLP shows nothing of it.
class LayerObserver {
public:
    virtual ~LayerObserver() = default;

    virtual bool wants(int layer, Tap tap) const = 0;
    /// Whether what products read (context, mlpHidden) may come in the plan's type, as it is.
    virtual bool takesPlanType() const { return false; }
    virtual void see(int layer, Tap tap, const at::Tensor& values) = 0;

    /// Whether attention probabilities are wanted: they cost a pass of their own over the scores.
    virtual bool wantsAttention(int) const { return false; }
    /// A block of them: [rows, heads of the block, queries of the block, keys], 0 where a key is not visible.
    virtual void seeAttention(int, std::int64_t /*firstHead*/, std::int64_t /*firstQuery*/, const at::Tensor&) {}

    /// Numbers of each query's attention that are wanted: they cost far less than a map.
    virtual std::span<const AttentionFeature> attentionFeatures(int) const { return {}; }
    /// [rows, heads, features, positions], in the order they were asked for.
    virtual void seeAttentionFeatures(int, const at::Tensor&) {}
};

} // namespace secateur
