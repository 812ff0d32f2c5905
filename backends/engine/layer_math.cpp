#include "backends/engine/layer_math.h"

#include "analysis/running/scalar_type.h"
#include "backends/engine/attention_blocks.h"
#include "backends/kernels/dropout.h"
#include "backends/kernels/thread_team.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <optional>

namespace secateur {

NormValues valuesOf(const Norm& norm) {
    const auto* bias = norm.bias.defined() ? norm.bias.data_ptr<float>() : nullptr;
    return {norm.kind, norm.epsilon, norm.weight.defined() ? norm.weight.data_ptr<float>() : nullptr, bias};
}

RotaryTables tablesOf(const RotaryTable& table) {
    if (!table.cosines.defined())
        return {};
    return {table.cosines.data_ptr<float>(), table.sines.data_ptr<float>(),
            static_cast<int>(2 * table.cosines.size(1))};
}

AttentionShape shapeOf(const AttentionInput& input) {
    const LayerSpec& spec = input.layer.spec;
    return {.heads = spec.heads,
            .kvHeads = spec.kvHeads,
            .headDim = spec.headDim,
            .causal = input.causal(),
            .window = spec.window,
            .scale = static_cast<float>(spec.scoreScale),
            .softcap = static_cast<float>(input.spec.scoreSoftcap),
            .groupBegin = input.layer.groupBegin.data()};
}

at::Tensor scaledInput(const Linear& linear, const at::Tensor& input) {
    return linear.inputFactors.defined() ? input * linear.inputFactors : input;
}

at::Tensor withUpdates(const at::Tensor& output, const Linear& linear, const at::Tensor& input) {
    if (linear.updates.empty())
        return output;
    const bool records = c10::GradMode::is_enabled();
    const auto& [probability, key] = linear.dropout;
    at::Tensor x = input.to(at::kFloat).contiguous();
    if (probability > 0)
        x = records ? x * dropped(at::ones_like(x), probability, key) : dropped(x, probability, key);
    at::Tensor sum = output;
    for (const LinearUpdate& update : linear.updates) {
        const at::Tensor inner = at::matmul(x, update.a.t());
        const std::int64_t outputs = update.b.size(0);
        if (records)
            sum = sum + at::constant_pad_nd(at::matmul(inner, update.b.t()) * update.scale,
                                            {update.begin, output.size(1) - update.begin - outputs});
        else
            sum.narrow(1, update.begin, outputs).addmm_(inner, update.b.t(), 1, update.scale);
    }
    return sum;
}

namespace {

class FusedMath : public LayerMath {
public:
    explicit FusedMath(ComputeType type)
        : m_type(scalarTypeOf(type)) {}

    at::Tensor normalised(const Norm& norm, const at::Tensor& x) const override {
        return normalisedAs(norm, x, m_type);
    }

    at::Tensor normalisedStream(const Norm& norm, const at::Tensor& x) const override {
        return normalisedAs(norm, x, at::kFloat);
    }

    std::pair<at::Tensor, at::Tensor> addAndNormalise(const Norm& norm, const at::Tensor& x,
                                                      const at::Tensor& added) const override {
        at::Tensor sum = at::empty_like(x);
        at::Tensor out = at::empty(x.sizes(), m_type);
        addAndNormRows(x, added, sum, valuesOf(norm), out);
        return {sum, out};
    }

    at::Tensor forProduct(const at::Tensor& x) const override { return x.to(m_type); }

    bool suitsTeam(const PlanLayer& layer, std::int64_t tokens) const override {
        return tokens <= PackedMatrix::fewRows &&
               std::ranges::all_of(
                   std::array{&layer.projections, &layer.output, &layer.gateUp, &layer.down}, [](const Linear* linear) {
                       const bool hasLoops = linear->stored || (linear->packed && linear->packed->hasLoops());
                       return (hasLoops || linear->out == 0) && linear->updates.empty();
                   });
    }

    void expect(const Linear& next) const override {
        ThreadTeam* team = ThreadTeam::current();
        if (team && next.packed)
            next.packed->prefetch(*team);
        else if (team && next.stored)
            next.stored->prefetch(*team);
    }

    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override {
        const at::Tensor x = scaledInput(linear, input);
        at::Tensor result = at::empty({x.size(0), linear.out}, at::kFloat);
        if (!linear.packed && !linear.stored)
            return unpacked(linear, x, result);
        if (linear.bias.defined())
            result.copy_(linear.bias.expand_as(result));
        multiply(linear, x, result, linear.bias.defined());
        return withUpdates(result, linear, x);
    }

    at::Tensor addLinear(at::Tensor sum, const Linear& linear, const at::Tensor& input) const override {
        const at::Tensor x = scaledInput(linear, input);
        if (linear.bias.defined())
            sum.add_(linear.bias);
        if (linear.packed || linear.stored)
            multiply(linear, x, sum, true);
        else if (linear.weight.defined() && linear.in > 0)
            sum.addmm_(x.to(at::kFloat), linear.weight.t());
        return withUpdates(sum, linear, x);
    }

    at::Tensor activated(const at::Tensor& projected, Activation activation, bool gated) const override {
        at::Tensor hidden = at::empty({projected.size(0), projected.size(1) / (gated ? 2 : 1)}, m_type);
        activateRows(projected, activation, gated, hidden);
        return hidden;
    }

    at::Tensor hiddenUnits(const Linear& gateUp, const at::Tensor& input, Activation activation,
                           bool gated) const override {
        const auto panels = panelsOf(gateUp);
        if (!panels || input.size(0) <= PackedMatrix::fewRows)
            return LayerMath::hiddenUnits(gateUp, input, activation, gated);
        at::Tensor hidden = at::empty({input.size(0), gateUp.out / (gated ? 2 : 1)}, m_type);
        activatePanels(*panels, input, biasOf(gateUp), activation, gated, hidden);
        return hidden;
    }

    /// Computes the MLP for a few tokens at a time, so that the widest tensors of a layer are never in memory as a
    /// whole.
    at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer, const at::Tensor& input,
                      bool) const override {
        constexpr std::int64_t leastTokens = 256; // products with fewer tokens are slower
        constexpr std::int64_t numbers = 1 << 22;
        std::int64_t slice = std::max(leastTokens, numbers / std::max<std::int64_t>(1, layer.gateUp.out));
        if (!layer.gateUp.updates.empty() || !layer.down.updates.empty())
            slice = sum.size(0); // an element's index determines whether it is dropped
        for (std::int64_t begin = 0; begin < sum.size(0); begin += slice) {
            const std::int64_t count = std::min(slice, sum.size(0) - begin);
            const auto part = [&](const at::Tensor& rows) { // narrow() of one token takes longer than its norm
                return count == rows.size(0) ? rows : rows.narrow(0, begin, count);
            };
            const at::Tensor hidden = hiddenUnits(layer.gateUp, part(input), spec.activation, spec.gatedMlp);
            addLinear(part(sum), layer.down, hidden);
        }
        return sum;
    }

    at::Tensor context(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) const override {
        const LayerSpec& spec = input.layer.spec;
        const AttentionShape shape = shapeOf(input);
        showProjections(projected, input, observer);
        at::Tensor queries = at::empty({input.rows, spec.heads, input.positions, spec.headDim}, at::kFloat);
        LayerCache own;
        if (!input.cache)
            own.keys = at::empty({input.rows, spec.kvHeads, input.positions, spec.headDim}, m_type),
            own.values = at::empty_like(own.keys);
        const LayerCache& cache = input.cache ? *input.cache : own;
        const KeyValueViews views(cache.keys, cache.values);
        placeHeads(projected.view({input.rows, input.positions, -1}), shape, valuesOf(input.layer.queryNorm),
                   valuesOf(input.layer.keyNorm), tablesOf(input.rotary), input.first, input.lengths, queries, views);
        at::Tensor context = at::empty({projected.size(0), std::int64_t{spec.heads} * spec.headDim}, m_type);
        if (const auto wanted = observer.attentionFeatures(); !wanted.empty()) {
            const at::Tensor features =
                at::empty({input.rows, spec.heads, std::ssize(wanted), input.positions}, at::kFloat);
            attendWithFeatures(queries, views, shape, input.first, input.lengths, context, wanted, features);
            observer.seeAttentionFeatures(features);
        } else
            attend(queries, views, shape, input.first, input.lengths, context);
        if (observer.wantsAttention())
            showAttention(queries, cache.keys, input, observer);
        if (observer.wants(Tap::context))
            observer.see(Tap::context, context);
        return context;
    }

    void crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap, std::span<float> losses,
                      std::span<std::uint8_t> greedy) const override {
        crossEntropyRows(logits, targets, softcap, losses, greedy);
    }

    void headCrossEntropy(const Linear& head, const at::Tensor& input, std::span<const int> targets, float softcap,
                          std::span<float> losses, std::span<std::uint8_t> greedy) const override {
        if (const auto panels = panelsOf(head); panels && input.size(0) > PackedMatrix::fewRows)
            crossEntropyOfPanels(*panels, input, biasOf(head), targets, softcap, losses, greedy);
        else
            LayerMath::headCrossEntropy(head, input, targets, softcap, losses, greedy);
    }

    bool keepsLogits(const Linear& head) const override { return !panelsOf(head); }

private:
    /// The weight, if its products with many tokens can be used before they are in memory.
    static std::optional<WeightPanels> panelsOf(const Linear& linear) {
        if (!linear.packed || !linear.updates.empty() || linear.inputFactors.defined())
            return {};
        return linear.packed->panels();
    }

    static const float* biasOf(const Linear& linear) {
        return linear.bias.defined() ? linear.bias.data_ptr<float>() : nullptr;
    }

    static void showProjections(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) {
        const LayerSpec& spec = input.layer.spec;
        const at::Tensor all = projected.view({projected.size(0), -1, spec.headDim});
        if (observer.wants(Tap::query))
            observer.see(Tap::query, all.narrow(1, 0, spec.heads));
        if (!observer.wants(Tap::key) && !observer.wants(Tap::value))
            return;
        const at::Tensor kvHeads = kvHeadOf(input.layer, at::kCPU);
        if (observer.wants(Tap::key))
            observer.see(Tap::key, all.narrow(1, spec.heads, spec.kvHeads).index_select(1, kvHeads));
        if (observer.wants(Tap::value))
            observer.see(Tap::value, all.narrow(1, spec.heads + spec.kvHeads, spec.kvHeads).index_select(1, kvHeads));
    }

    static void multiply(const Linear& linear, const at::Tensor& input, const at::Tensor& result, bool adds) {
        if (linear.stored)
            linear.stored->multiply(input, result, adds);
        else
            linear.packed->multiply(input, result, adds);
    }

    /// linear() of a matrix that is neither packed nor stored: it has no inputs, or belongs to a plan with trained
    /// tensors.
    static at::Tensor unpacked(const Linear& linear, const at::Tensor& input, const at::Tensor& result) {
        if (linear.weight.defined() && linear.in > 0)
            result.copy_(at::mm(input.to(at::kFloat), linear.weight.t()));
        else
            result.zero_();
        return withUpdates(linear.bias.defined() ? result.add_(linear.bias) : result, linear, input);
    }

    at::Tensor normalisedAs(const Norm& norm, const at::Tensor& x, at::ScalarType type) const {
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
