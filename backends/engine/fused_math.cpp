#include "analysis/running/scalar_type.h"
#include "backends/engine/attention_blocks.h"
#include "backends/engine/layer_math.h"
#include "backends/engine/loop_arguments.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

namespace {

class FusedMath : public LayerMath {
public:
    explicit FusedMath(ComputeType type)
        : m_type(scalarTypeOf(type)) {}

    at::Tensor normed(const Norm& norm, const at::Tensor& x) const override { return normedAs(norm, x, m_type); }

    at::Tensor normedStream(const Norm& norm, const at::Tensor& x) const override {
        return normedAs(norm, x, at::kFloat);
    }

    std::pair<at::Tensor, at::Tensor> addAndNorm(const Norm& norm, const at::Tensor& x,
                                                 const at::Tensor& added) const override {
        at::Tensor sum = at::empty_like(x);
        at::Tensor out = at::empty(x.sizes(), m_type);
        addAndNormRows(x, added, sum, valuesOf(norm), out);
        return {sum, out};
    }

    at::Tensor forProduct(const at::Tensor& x) const override { return x.to(m_type); }

    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override {
        const std::int64_t tokens = input.size(0);
        at::Tensor result = at::empty({tokens, linear.out}, at::kFloat);
        if (!linear.packed) // nothing to sum
            return linear.bias.defined() ? result.copy_(linear.bias) : result.zero_();
        if (linear.bias.defined())
            result.copy_(linear.bias.expand_as(result));
        linear.packed->multiply(input, result, linear.bias.defined());
        return result;
    }

    at::Tensor addLinear(at::Tensor sum, const Linear& linear, const at::Tensor& input) const override {
        if (linear.bias.defined())
            sum.add_(linear.bias);
        if (linear.packed)
            linear.packed->multiply(input, sum, true);
        return sum;
    }

    at::Tensor activated(const at::Tensor& projected, Activation activation, bool gated) const override {
        at::Tensor hidden = at::empty({projected.size(0), projected.size(1) / (gated ? 2 : 1)}, m_type);
        activateRows(projected, activation, gated, hidden);
        return hidden;
    }

    /// By slices of the tokens: the widest tensors of a layer never exist as a whole.
    at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer, const at::Tensor& read,
                      bool) const override {
        constexpr std::int64_t leastTokens = 256; // products of fewer are slower
        constexpr std::int64_t numbers = 1 << 22;
        const std::int64_t slice = std::max(leastTokens, numbers / std::max<std::int64_t>(1, layer.gateUp.out));
        for (std::int64_t begin = 0; begin < sum.size(0); begin += slice) {
            const std::int64_t count = std::min(slice, sum.size(0) - begin);
            const at::Tensor projected = linear(layer.gateUp, read.narrow(0, begin, count));
            const at::Tensor hidden = activated(projected, spec.activation, spec.gatedMlp);
            addLinear(sum.narrow(0, begin, count), layer.down, hidden);
        }
        return sum;
    }

    at::Tensor context(const at::Tensor& projected, const AttentionInput& input, Watch& watch) const override {
        const LayerSpec& spec = input.layer.spec;
        const AttentionShape shape = shapeOf(input);
        showProjections(projected, input, watch);
        at::Tensor queries = at::empty({input.rows, spec.heads, input.positions, spec.headDim}, at::kFloat);
        LayerCache own;
        if (!input.cache)
            own.keys = at::empty({input.rows, spec.kvHeads, input.positions, spec.headDim}, at::kFloat),
            own.values = at::empty_like(own.keys);
        const LayerCache& cache = input.cache ? *input.cache : own;
        const KeyValueViews views{cache.keys.data_ptr<float>(), cache.values.data_ptr<float>(), cache.keys.size(2)};
        placeHeads(projected.view({input.rows, input.positions, -1}), shape, valuesOf(input.layer.queryNorm),
                   valuesOf(input.layer.keyNorm), tablesOf(input.rotary), input.first, input.lengths, queries, views);
        at::Tensor context = at::empty({projected.size(0), std::int64_t{spec.heads} * spec.headDim}, m_type);
        if (const auto wanted = watch.attentionFeatures(); !wanted.empty()) {
            const at::Tensor features =
                at::empty({input.rows, spec.heads, std::ssize(wanted), input.positions}, at::kFloat);
            attendAndDescribe(queries, views, shape, input.first, input.lengths, context, wanted, features);
            watch.seeAttentionFeatures(features);
        } else
            attend(queries, views, shape, input.first, input.lengths, context);
        if (watch.wantsAttention())
            showAttention(queries, cache.keys, input, watch);
        if (watch.wants(Tap::context))
            watch.see(Tap::context, context);
        return context;
    }

    void crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap, std::span<float> losses,
                      std::span<std::uint8_t> greedy) const override {
        crossEntropyRows(logits, targets, softcap, losses, greedy);
    }

private:
    static void showProjections(const at::Tensor& projected, const AttentionInput& input, Watch& watch) {
        const LayerSpec& spec = input.layer.spec;
        const at::Tensor all = projected.view({projected.size(0), -1, spec.headDim});
        if (watch.wants(Tap::query))
            watch.see(Tap::query, all.narrow(1, 0, spec.heads));
        if (!watch.wants(Tap::key) && !watch.wants(Tap::value))
            return;
        const at::Tensor kvHeads = kvHeadOf(input.layer, at::kCPU);
        if (watch.wants(Tap::key))
            watch.see(Tap::key, all.narrow(1, spec.heads, spec.kvHeads).index_select(1, kvHeads));
        if (watch.wants(Tap::value))
            watch.see(Tap::value, all.narrow(1, spec.heads + spec.kvHeads, spec.kvHeads).index_select(1, kvHeads));
    }

    at::Tensor normedAs(const Norm& norm, const at::Tensor& x, at::ScalarType type) const {
        at::Tensor out = at::empty(x.sizes(), type);
        normRows(x, valuesOf(norm), out);
        return out;
    }

    at::ScalarType m_type;
};

} // namespace

std::unique_ptr<const LayerMath> fusedMath(ComputeType type) {
    return std::make_unique<FusedMath>(type);
}

} // namespace secateur
