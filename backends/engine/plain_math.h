#pragma once

#include "backends/engine/layer_math.h"

namespace secateur {

/// The operations of a layer by ATen, on any device. They can be differentiated. For sources only: includes ATen.
class PlainMath : public LayerMath {
public:
    explicit PlainMath(ComputeType type);

    at::Tensor normalised(const Norm& norm, const at::Tensor& x) const override;
    at::Tensor normalisedStream(const Norm& norm, const at::Tensor& x) const override;
    std::pair<at::Tensor, at::Tensor> addAndNormalise(const Norm& norm, const at::Tensor& x,
                                                      const at::Tensor& added) const override;
    at::Tensor forProduct(const at::Tensor& x) const override;
    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override;
    at::Tensor addLinear(at::Tensor sum, const Linear& linear, const at::Tensor& input) const override;
    at::Tensor activated(const at::Tensor& projected, Activation activation, bool gated) const override;
    at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer, const at::Tensor& input,
                      bool isLast) const override;
    at::Tensor context(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) const override;
    void crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap, std::span<float> losses,
                      std::span<std::uint8_t> greedy) const override;

protected:
    at::ScalarType type() const { return m_type; }

    /// The contexts of the heads [tokens, heads headDim] from rotated queries [rows, heads, positions,
    /// headDim], and rotated keys and values [rows, heads or kvHeads, keys, headDim], in the plan's type. Passes
    /// attention and contexts to the observer.
    static at::Tensor contextOf(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const AttentionInput& input, TapObserver& observer);

private:
    at::ScalarType m_type;
};

/// The rows of a rotary table for each row of a batch: [rows, positions, dims / 2], or [1, positions, dims / 2] if all
/// rows begin at the same position. @param table RotaryTable::cosines or sines
at::Tensor rotaryRows(const at::Tensor& table, const AttentionInput& input);

} // namespace secateur
