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

/// Observes the taps of one layer during its run. The layer continues with the tensors that were observed, so that
/// autograd can compute gradients with respect to them. For sources only: includes ATen.
class TapObserver {
public:
    virtual ~TapObserver() = default;
    virtual bool wants(Tap) const { return false; }
    virtual void see(Tap, const at::Tensor&) {}
    virtual bool wantsAttention() const { return false; }
    virtual HeadRange attentionHeads() const { return {}; }
    virtual void seeAttention(std::int64_t /*firstHead*/, std::int64_t /*firstQuery*/, const at::Tensor&) {}
    virtual std::span<const AttentionFeature> attentionFeatures() const { return {}; }
    virtual void seeAttentionFeatures(const at::Tensor&) {}
};

/// Keys and values of one layer, [rows, kvHeads, capacity, headDim] in the plan's type.
struct LayerCache {
    at::Tensor keys;
    at::Tensor values;
};

/// Cosines and sines by position, [positions, dims / 2] float32; undefined if the model has no rotary positions.
struct RotaryTable {
    at::Tensor cosines;
    at::Tensor sines;
};

/// The inputs of attention, except the projections.
struct AttentionInput {
    const ModelSpec& spec;
    const PlanLayer& layer;
    std::int64_t rows;
    std::int64_t positions;
    std::vector<int> first;   ///< [rows] position of the first token
    std::vector<int> lengths; ///< [rows] number of real tokens
    RotaryTable rotary;
    LayerCache* cache = nullptr;     ///< null = queries see only the keys of the batch
    at::Tensor attentionScales = {}; ///< [rows] factors of the attention probabilities; undefined = 1
    bool causal() const { return spec.family == Family::decoder; }
};

/// The operations of a layer. There is a fast implementation for the CPU, one in ATen for any device, and one with
/// gradients. The layer itself (layer_pass.h) uses any of them. Unless stated otherwise, tensors are [tokens, width].
/// The residual stream is float32; inputs of products have the plan's type.
class LayerMath {
public:
    virtual ~LayerMath() = default;

    /// The normalised stream in the type for products.
    virtual at::Tensor normalised(const Norm& norm, const at::Tensor& x) const = 0;
    /// The normalised stream in float32, for norms after a sublayer.
    virtual at::Tensor normalisedStream(const Norm& norm, const at::Tensor& x) const = 0;
    /// x + added, and the norm of this sum in the type for products.
    virtual std::pair<at::Tensor, at::Tensor> addAndNormalise(const Norm& norm, const at::Tensor& x,
                                                              const at::Tensor& added) const = 0;
    /// Converts a tensor to the type for products, which is the plan's type.
    virtual at::Tensor forProduct(const at::Tensor& x) const = 0;
    /// Whether the layer's products with so many tokens are loops that a ThreadTeam can divide.
    virtual bool suitsTeam(const PlanLayer& /*layer*/, std::int64_t /*tokens*/) const { return false; }
    /// Says whose product comes soon, so that idle threads of a team can prefetch its weight.
    virtual void expect(const Linear& /*next*/) const {}
    /// (input * factors) W^T + bias as float32. The factors are Linear::inputFactors.
    virtual at::Tensor linear(const Linear& linear, const at::Tensor& input) const = 0;
    /// sum + linear(input). The implementation may overwrite `sum`.
    virtual at::Tensor addLinear(at::Tensor sum, const Linear& linear, const at::Tensor& input) const = 0;
    /// The hidden units of the MLP in the plan's type. @param projected output of the gate and up projections
    virtual at::Tensor activated(const at::Tensor& projected, Activation activation, bool gated) const = 0;
    /// activated(linear(gateUp, input))
    virtual at::Tensor hiddenUnits(const Linear& gateUp, const at::Tensor& input, Activation activation,
                                   bool gated) const {
        return activated(linear(gateUp, input), activation, gated);
    }
    /// sum + MLP(input), without taps. The implementation may overwrite `sum`.
    /// @param isLast whether nothing reads the values of the result. An implementation with gradients may then skip
    /// them
    virtual at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer,
                              const at::Tensor& input, bool isLast) const = 0;
    /// The contexts of the heads: projections [tokens, (heads + 2 kvHeads) headDim] -> [tokens, heads headDim] in the
    /// plan's type. Passes queries, keys, values, attention probabilities and contexts to the observer.
    virtual at::Tensor context(const at::Tensor& projected, const AttentionInput& input,
                               TapObserver& observer) const = 0;
    /// Like crossEntropyRows() in layer_loops.h.
    virtual void crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap,
                              std::span<float> losses, std::span<std::uint8_t> greedy) const = 0;
    /// crossEntropy() of linear(head, input)
    virtual void headCrossEntropy(const Linear& head, const at::Tensor& input, std::span<const int> targets,
                                  float softcap, std::span<float> losses, std::span<std::uint8_t> greedy) const {
        crossEntropy(linear(head, input), targets, softcap, losses, greedy);
    }
    /// Whether headCrossEntropy() has the logits of all tokens in memory.
    virtual bool keepsLogits(const Linear& /*head*/) const { return true; }
};

/// The input of a projection times Linear::inputFactors.
at::Tensor scaledInput(const Linear& linear, const at::Tensor& input);

/// The output of a projection with its low-rank updates, computed by ATen. May overwrite `output` if no graph is
/// recorded. @param input as returned by scaledInput()
at::Tensor withUpdates(const at::Tensor& output, const Linear& linear, const at::Tensor& input);

/// Uses the CPU loops and packed weights, without gradients.
std::unique_ptr<const LayerMath> fusedMath(ComputeType type);
/// Uses only ATen, on any device: the reference (plain_math.h).
std::unique_ptr<const LayerMath> plainMath(ComputeType type);
/// Uses only ATen, with its fused operations where nothing records a graph. For other devices than the CPU.
std::unique_ptr<const LayerMath> deviceMath(ComputeType type);
/// Uses the CPU loops with gradients, in float32. Weights must be packed with their transposes (Linear::transposed).
std::unique_ptr<const LayerMath> gradientMath();

// Arguments for the CPU loops. They contain pointers into the arguments of these functions, which must outlive them.
NormValues valuesOf(const Norm& norm);
RotaryTables tablesOf(const RotaryTable& table);
AttentionShape shapeOf(const AttentionInput& input);

} // namespace secateur
