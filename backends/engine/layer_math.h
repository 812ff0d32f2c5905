#pragma once

#include "analysis/running/batch.h"
#include "analysis/running/layer_observer.h"
#include "backends/engine/plan_layer.h"
#include "backends/kernels/layer_loops.h"

#include <ATen/core/Tensor.h>

#include <memory>
#include <span>
#include <vector>

namespace secateur {

/// The operations that a layer is made of. One implementation is fast, the other can be differentiated and runs on any
/// device; the layer itself is written once (layer_pass.h). Tensors are [tokens, width] unless said otherwise; the
/// stream is float32, what products read is of the plan's type. For sources only: pulls in ATen.

/// Looks at tensors on their way. What was shown is what the layer goes on with, so that gradients can be had of it.
class TapObserver {
public:
    virtual ~TapObserver() = default;
    virtual bool wants(Tap) const { return false; }
    virtual void see(Tap, const at::Tensor&) {}
    virtual bool wantsAttention() const { return false; }
    virtual void seeAttention(std::int64_t /*firstHead*/, std::int64_t /*firstQuery*/, const at::Tensor&) {}
    virtual std::span<const AttentionFeature> attentionFeatures() const { return {}; }
    virtual void seeAttentionFeatures(const at::Tensor&) {}
};

/// Keys and values of one layer, [rows, kvHeads, capacity, headDim] float32.
struct LayerCache {
    at::Tensor keys;
    at::Tensor values;
};

/// Cosines and sines by position, [positions, dims / 2] float32; undefined where nothing turns.
struct RotaryTable {
    at::Tensor cosines;
    at::Tensor sines;
};

/// What attention reads besides the layer's weights.
struct AttentionInput {
    const ModelSpec& spec;
    const PlanLayer& layer;
    std::int64_t rows;
    std::int64_t positions;
    std::vector<int> first;   ///< [rows]
    std::vector<int> lengths; ///< [rows]
    RotaryTable rotary;
    LayerCache* cache = nullptr;     ///< null: keys and values are those of the batch alone
    at::Tensor attentionScales = {}; ///< [rows] of the probabilities, by plain math; undefined = 1
    bool causal() const { return spec.family == Family::decoder; }
};

class LayerMath {
public:
    virtual ~LayerMath() = default;

    /// The norm of the stream, for a product that reads it.
    virtual at::Tensor normed(const Norm& norm, const at::Tensor& x) const = 0;
    /// The same, as a stream.
    virtual at::Tensor normedStream(const Norm& norm, const at::Tensor& x) const = 0;
    /// x + added, and its norm for a product.
    virtual std::pair<at::Tensor, at::Tensor> addAndNorm(const Norm& norm, const at::Tensor& x,
                                                         const at::Tensor& added) const = 0;
    /// Of the plan's type.
    virtual at::Tensor forProduct(const at::Tensor& x) const = 0;
    /// -> float32
    virtual at::Tensor linear(const Linear& linear, const at::Tensor& input) const = 0;
    /// sum + linear(input). May use the memory of `sum`, which noObserver else may need any more.
    virtual at::Tensor addLinear(at::Tensor sum, const Linear& linear, const at::Tensor& input) const = 0;
    /// Of the MLP's first projections -> of the plan's type
    virtual at::Tensor activated(const at::Tensor& projected, Activation activation, bool gated) const = 0;
    /// sum + the MLP of `read`, where noObserver looks inside. May use the memory of `sum`.
    /// @param isLast nothing else reads the numbers: where gradients alone matter they may be left out
    virtual at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer,
                              const at::Tensor& read, bool isLast) const = 0;
    /// What the heads gather: projections [tokens, (heads + 2 kvHeads) headDim] -> [tokens, heads headDim] of the
    /// plan's type. Shows queries, keys, values, attention and context to whoever wants them.
    virtual at::Tensor context(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) const = 0;
    /// As crossEntropyRows (layer_loops.h).
    virtual void crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap,
                              std::span<float> losses, std::span<std::uint8_t> greedy) const = 0;
};

/// The processor's own loops and packed weights; no gradients.
std::unique_ptr<const LayerMath> fusedMath(ComputeType type);
/// ATen alone.
std::unique_ptr<const LayerMath> plainMath(ComputeType type);
/// With gradients, in float32 on the processor: of weights that are packed both ways (Linear::back).
std::unique_ptr<const LayerMath> gradientMath();

/// What the processor's loops want to know of a layer. All point into their arguments.
NormValues valuesOf(const Norm& norm);
RotaryTables tablesOf(const RotaryTable& table);
AttentionShape shapeOf(const AttentionInput& input);

} // namespace secateur
