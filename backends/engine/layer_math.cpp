#include "backends/engine/layer_math.h"

#include "analysis/running/scalar_type.h"
#include "backends/engine/attention_blocks.h"
#include "backends/kernels/dropout.h"
#include "backends/kernels/plain_loops.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/version.h>

#include <algorithm>

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

/// Whether this version of libtorch has a fused attention that accepts a scale.
constexpr bool hasFusedAttention = TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1);

/// Attention by libtorch's fused implementation. @param visible as returned by visibleKeys(); undefined = causal
/// attention
at::Tensor fusedAttention([[maybe_unused]] const at::Tensor& q, [[maybe_unused]] const at::Tensor& k,
                          [[maybe_unused]] const at::Tensor& v, [[maybe_unused]] const at::Tensor& visible,
                          [[maybe_unused]] double scale) {
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
    if (visible.defined())
        return at::scaled_dot_product_attention(q, k, v, visible, 0.0, false, scale);
    return at::scaled_dot_product_attention(q, k, v, {}, 0.0, true, scale);
#else
    return {};
#endif
}

class PlainMath : public LayerMath {
public:
    explicit PlainMath(ComputeType type)
        : m_type(scalarTypeOf(type)) {}

    at::Tensor normalised(const Norm& norm, const at::Tensor& x) const override {
        return forProduct(normalisedStream(norm, x));
    }

    at::Tensor normalisedStream(const Norm& norm, const at::Tensor& x) const override {
        return plainNorm(x, norm.kind, norm.epsilon, norm.weight, norm.bias);
    }

    std::pair<at::Tensor, at::Tensor> addAndNormalise(const Norm& norm, const at::Tensor& x,
                                                      const at::Tensor& added) const override {
        const at::Tensor sum = x + added;
        return {sum, normalised(norm, sum)};
    }

    at::Tensor forProduct(const at::Tensor& x) const override { return x.to(m_type); }

    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override {
        const at::Tensor x = scaledInput(linear, input);
        const at::Tensor product = at::matmul(x, linear.weight.t()).to(at::kFloat);
        return withUpdates(linear.bias.defined() ? product + linear.bias : product, linear, x);
    }

    at::Tensor addLinear(at::Tensor sum, const Linear& wanted, const at::Tensor& input) const override {
        return sum + linear(wanted, input);
    }

    at::Tensor activated(const at::Tensor& projected, Activation activation, bool gated) const override {
        return forProduct(plainActivation(projected, activation, gated));
    }

    at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer, const at::Tensor& input,
                      bool) const override {
        return addLinear(sum, layer.down, activated(linear(layer.gateUp, input), spec.activation, spec.gatedMlp));
    }

    at::Tensor context(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) const override {
        const ProjectedHeads heads = projectedHeads(projected, input, observer);
        const at::Tensor q = rotated(heads.queries, input.layer.queryNorm, input);
        at::Tensor k = rotated(heads.keys, input.layer.keyNorm, input);
        at::Tensor v = heads.values.transpose(1, 2);
        if (input.cache)
            std::tie(k, v) = throughCache(k, v, input);
        if (observer.wantsAttention())
            showAttention(q, k, input, observer);
        showAttentionFeatures(q, k, input, observer);
        if (!heads.perHead) {
            const at::Tensor kvHeads = kvHeadOf(input.layer, projected.device());
            k = k.index_select(1, kvHeads);
            v = v.index_select(1, kvHeads);
        }
        const at::Tensor gathered = attended(q.to(m_type), k.to(m_type), v.to(m_type), input, observer);
        const at::Tensor context = gathered.transpose(1, 2).reshape({projected.size(0), -1});
        show(observer, Tap::context, context);
        return context;
    }

    void crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap, std::span<float> losses,
                      std::span<std::uint8_t> greedy) const override {
        const std::vector<std::int64_t> wanted(targets.begin(), targets.end());
        const at::Tensor indices = at::tensor(wanted, at::kLong).to(logits.device());
        const at::Tensor nats = plainCrossEntropy(logits, indices, softcap).cpu().contiguous();
        const at::Tensor isLargest = logits.argmax(-1).eq(indices).cpu().to(at::kByte).contiguous();
        std::copy_n(nats.data_ptr<float>(), nats.numel(), losses.begin());
        std::copy_n(isLargest.data_ptr<std::uint8_t>(), isLargest.numel(), greedy.begin());
    }

private:
    static void show(TapObserver& observer, Tap tap, const at::Tensor& values) {
        if (observer.wants(tap))
            observer.see(tap, values);
    }

    static at::Tensor attended(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                               const AttentionInput& input, TapObserver& observer) {
        const LayerSpec& spec = input.layer.spec;
        if (observer.wants(Tap::attention) || input.attentionScales.defined())
            return attendedWithProbabilities(q, k, v, input, observer);
        const bool isFused = hasFusedAttention && !q.device().is_cpu() && input.spec.scoreSoftcap == 0;
        // Padding is at the end of rows. Causal queries do not see it, and need no mask.
        if (isFused && input.causal() && spec.window == 0 && !input.cache)
            return fusedAttention(q, k, v, {}, spec.scoreScale);
        const at::Tensor visible = visibleTo(input, 0, input.positions, k.size(2), q.device());
        if (isFused)
            return fusedAttention(q, k, v, visible, spec.scoreScale);
        return plainAttention(q, k, v, visible, spec.scoreScale, input.spec.scoreSoftcap);
    }

    /// Attention that computes its probabilities explicitly, so that they can be observed and scaled.
    static at::Tensor attendedWithProbabilities(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                                const AttentionInput& input, TapObserver& observer) {
        const at::Tensor visible = visibleTo(input, 0, input.positions, k.size(2), q.device());
        at::Tensor p = plainProbabilities(q, k, visible, input.layer.spec.scoreScale, input.spec.scoreSoftcap);
        if (input.attentionScales.defined())
            p = p * input.attentionScales.view({-1, 1, 1, 1});
        show(observer, Tap::attention, p);
        return at::matmul(p, v.to(p.scalar_type())).to(q.scalar_type());
    }

    /// Normalises heads, if the layer has a norm for them, and rotates them. -> [rows, heads, positions, headDim]
    /// @param heads [rows, positions, heads, headDim]
    static at::Tensor rotated(const at::Tensor& heads, const Norm& norm, const AttentionInput& input) {
        at::Tensor x = norm ? plainNorm(heads, norm.kind, norm.epsilon, norm.weight, norm.bias) : heads;
        x = x.transpose(1, 2);
        if (!input.rotary.cosines.defined())
            return x;
        const auto rowTables = [&](const at::Tensor& table) {
            std::vector<at::Tensor> rows;
            for (const int first : input.first)
                rows.push_back(table.narrow(0, first, input.positions));
            return at::stack(rows);
        };
        return plainRotary(x, rowTables(input.rotary.cosines), rowTables(input.rotary.sines));
    }

    /// Appends keys and values to the cache. Returns all keys and values that the cache then contains.
    static std::pair<at::Tensor, at::Tensor> throughCache(const at::Tensor& k, const at::Tensor& v,
                                                          const AttentionInput& input) {
        for (std::int64_t row = 0; row < input.rows; ++row) {
            const int first = input.first[static_cast<std::size_t>(row)];
            const int length = input.lengths[static_cast<std::size_t>(row)];
            const auto place = [&](const at::Tensor& kept, const at::Tensor& added) {
                kept.select(0, row).narrow(1, first, length).copy_(added.select(0, row).narrow(1, 0, length));
            };
            place(input.cache->keys, k);
            place(input.cache->values, v);
        }
        const std::int64_t end = keyCount(input);
        return {input.cache->keys.narrow(2, 0, end), input.cache->values.narrow(2, 0, end)};
    }

    at::ScalarType m_type;
};

} // namespace

std::unique_ptr<const LayerMath> plainMath(ComputeType type) {
    return std::make_unique<PlainMath>(type);
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

    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override {
        const at::Tensor x = scaledInput(linear, input);
        at::Tensor result = at::empty({x.size(0), linear.out}, at::kFloat);
        if (!linear.packed)
            return unpacked(linear, x, result);
        if (linear.bias.defined())
            result.copy_(linear.bias.expand_as(result));
        linear.packed->multiply(x, result, linear.bias.defined());
        return withUpdates(result, linear, x);
    }

    at::Tensor addLinear(at::Tensor sum, const Linear& linear, const at::Tensor& input) const override {
        const at::Tensor x = scaledInput(linear, input);
        if (linear.bias.defined())
            sum.add_(linear.bias);
        if (linear.packed)
            linear.packed->multiply(x, sum, true);
        else if (linear.weight.defined() && linear.in > 0)
            sum.addmm_(x.to(at::kFloat), linear.weight.t());
        return withUpdates(sum, linear, x);
    }

    at::Tensor activated(const at::Tensor& projected, Activation activation, bool gated) const override {
        at::Tensor hidden = at::empty({projected.size(0), projected.size(1) / (gated ? 2 : 1)}, m_type);
        activateRows(projected, activation, gated, hidden);
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
            const at::Tensor projected = linear(layer.gateUp, input.narrow(0, begin, count));
            const at::Tensor hidden = activated(projected, spec.activation, spec.gatedMlp);
            addLinear(sum.narrow(0, begin, count), layer.down, hidden);
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
            own.keys = at::empty({input.rows, spec.kvHeads, input.positions, spec.headDim}, at::kFloat),
            own.values = at::empty_like(own.keys);
        const LayerCache& cache = input.cache ? *input.cache : own;
        const KeyValueViews views{cache.keys.data_ptr<float>(), cache.values.data_ptr<float>(), cache.keys.size(2)};
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

private:
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

    /// linear() of a matrix that is not packed: it has no inputs, or belongs to a plan with trained tensors.
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
