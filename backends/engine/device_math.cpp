#include "backends/base/torch_version.h"
#include "backends/engine/attention_blocks.h"
#include "backends/engine/plain_math.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <utility>

namespace secateur {

namespace {

/// Whether a graph is recorded. The fused operations below are for runs without gradients.
bool recordsGraph() {
    return c10::GradMode::is_enabled();
}

/// Whether libtorch can sum products of 16-bit numbers into a float32 result.
bool sumsInFloat(const at::Tensor& input) {
    return SECATEUR_TORCH_AT_LEAST(2, 8) && input.is_cuda() && input.scalar_type() != at::kFloat && input.size(0) > 0;
}

/// input weight^T in float32, for 16-bit factors on a CUDA device.
at::Tensor productInFloat([[maybe_unused]] const at::Tensor& input, [[maybe_unused]] const at::Tensor& weight) {
#if SECATEUR_TORCH_AT_LEAST(2, 8)
    return at::mm(input, weight.t(), at::kFloat);
#else
    return {};
#endif
}

/// sum + input weight^T in float32, for 16-bit factors on a CUDA device.
at::Tensor addedInFloat([[maybe_unused]] const at::Tensor& sum, [[maybe_unused]] const at::Tensor& input,
                        [[maybe_unused]] const at::Tensor& weight) {
#if SECATEUR_TORCH_AT_LEAST(2, 8)
    return at::addmm(sum, input, weight.t(), at::kFloat);
#else
    return {};
#endif
}

/// Whether libtorch normalises float32 rows in one pass.
bool hasFusedNorm(const Norm& norm) {
    return norm.kind == NormKind::layer || (SECATEUR_TORCH_AT_LEAST(2, 9) && !norm.bias.defined());
}

at::Tensor fusedNorm(const Norm& norm, const at::Tensor& x) {
    const std::int64_t width = x.size(-1);
    if (norm.kind == NormKind::layer)
        return std::get<0>(at::native_layer_norm(x, {width}, norm.weight, norm.bias, norm.epsilon));
#if SECATEUR_TORCH_AT_LEAST(2, 9)
    return std::get<0>(at::_fused_rms_norm(x, {width}, norm.weight, norm.epsilon));
#else
    return {};
#endif
}

/// The operations of a layer with as few passes over the tensors as libtorch allows. With gradients, those of
/// PlainMath.
class DeviceMath : public PlainMath {
public:
    using PlainMath::PlainMath;

    at::Tensor normalisedStream(const Norm& norm, const at::Tensor& x) const override {
        const bool isFused = !recordsGraph() && norm && x.scalar_type() == at::kFloat && hasFusedNorm(norm);
        return isFused ? fusedNorm(norm, x) : PlainMath::normalisedStream(norm, x);
    }

    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override {
        if (recordsGraph() || linear.inputFactors.defined() || !sumsInFloat(input))
            return PlainMath::linear(linear, input);
        const at::Tensor made = product(input, linear.weight);
        return withUpdates(linear.bias.defined() ? made.add_(linear.bias) : made, linear, input);
    }

    at::Tensor addLinear(at::Tensor sum, const Linear& linear, const at::Tensor& input) const override {
        if (recordsGraph() || linear.inputFactors.defined() || !sumsInFloat(input))
            return PlainMath::addLinear(std::move(sum), linear, input);
        const at::Tensor added = addedInFloat(sum, input, linear.weight);
        return withUpdates(linear.bias.defined() ? added.add_(linear.bias) : added, linear, input);
    }

    at::Tensor activated(const at::Tensor& projected, Activation activation, bool gated) const override {
        if (recordsGraph() || activation != Activation::silu || !gated)
            return PlainMath::activated(projected, activation, gated);
        const std::int64_t width = projected.size(1) / 2;
        at::Tensor hidden = at::empty({projected.size(0), width}, projected.options().dtype(type()));
        return at::mul_out(hidden, at::silu(projected.narrow(1, 0, width)), projected.narrow(1, width, width));
    }

    /// The halves of a gated MLP are multiplied separately: operations on contiguous matrices are faster.
    at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer, const at::Tensor& input,
                      bool isLast) const override {
        const Linear& gateUp = layer.gateUp;
        const bool isPlain = !gateUp.bias.defined() && gateUp.updates.empty() && !gateUp.inputFactors.defined();
        if (recordsGraph() || !isPlain || !spec.gatedMlp || spec.activation != Activation::silu || gateUp.out == 0)
            return PlainMath::addMlp(sum, spec, layer, input, isLast);
        const std::int64_t width = gateUp.out / 2;
        at::Tensor gate = product(input, gateUp.weight.narrow(0, 0, width));
        const at::Tensor up = product(input, gateUp.weight.narrow(0, width, width));
        at::Tensor hidden = at::empty(gate.sizes(), gate.options().dtype(type()));
        at::mul_out(hidden, at::silu_(gate), up);
        return addLinear(sum, layer.down, hidden);
    }

    at::Tensor context(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) const override {
        const bool isObserved = observer.wantsAttention() || !observer.attentionFeatures().empty();
        if (recordsGraph() || input.cache || isObserved)
            return PlainMath::context(projected, input, observer);
        const ProjectedHeads heads = projectedHeads(projected, input, observer);
        return contextOf(rotated(heads.queries, input.layer.queryNorm, input),
                         rotated(heads.keys, input.layer.keyNorm, input), heads.values.transpose(1, 2).to(type()),
                         input, observer);
    }

private:
    /// input weight^T as float32.
    static at::Tensor product(const at::Tensor& input, const at::Tensor& weight) {
        return sumsInFloat(input) ? productInFloat(input, weight) : at::mm(input, weight.t()).to(at::kFloat);
    }

    /// Rotated heads in the plan's type, [rows, heads, positions, headDim]. @param heads [rows, positions, heads,
    /// headDim] float32
    at::Tensor rotated(const at::Tensor& heads, const Norm& norm, const AttentionInput& input) const {
        const at::Tensor x = (norm ? normalisedStream(norm, heads) : heads).transpose(1, 2);
        const std::int64_t pairs = input.rotary.cosines.defined() ? input.rotary.cosines.size(1) : 0;
        if (pairs == 0)
            return x.to(type());
        // In the layout of the heads, which the fused attention then gives its result.
        const at::Tensor all = at::empty(heads.sizes(), x.options().dtype(type())).transpose(1, 2);
        const at::Tensor cosines = rotaryRows(input.rotary.cosines, input).unsqueeze(1);
        const at::Tensor sines = rotaryRows(input.rotary.sines, input).unsqueeze(1);
        const at::Tensor first = x.narrow(3, 0, pairs);
        const at::Tensor second = x.narrow(3, pairs, pairs);
        at::Tensor rotatedFirst = all.narrow(3, 0, pairs);
        at::Tensor rotatedSecond = all.narrow(3, pairs, pairs);
        at::addcmul_out(rotatedFirst, first * cosines, second, sines, -1);
        at::addcmul_out(rotatedSecond, second * cosines, first, sines);
        const std::int64_t rest = x.size(3) - 2 * pairs;
        if (rest > 0)
            all.narrow(3, 2 * pairs, rest).copy_(x.narrow(3, 2 * pairs, rest));
        return all;
    }
};

} // namespace

std::unique_ptr<const LayerMath> deviceMath(ComputeType type) {
    return std::make_unique<DeviceMath>(type);
}

} // namespace secateur
