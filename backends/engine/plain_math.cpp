#include "backends/engine/plain_math.h"

#include "analysis/running/scalar_type.h"
#include "backends/base/torch_version.h"
#include "backends/engine/attention_blocks.h"
#include "backends/kernels/plain_loops.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace secateur {

namespace {

/// Whether this version of libtorch has a fused attention that accepts a scale.
constexpr bool hasFusedAttention = SECATEUR_TORCH_AT_LEAST(2, 1);

/// Attention by libtorch's fused implementation. @param visible as returned by visibleKeys(); undefined = causal
/// attention
at::Tensor fusedAttention([[maybe_unused]] const at::Tensor& q, [[maybe_unused]] const at::Tensor& k,
                          [[maybe_unused]] const at::Tensor& v, [[maybe_unused]] const at::Tensor& visible,
                          [[maybe_unused]] double scale) {
#if SECATEUR_TORCH_AT_LEAST(2, 1)
    if (visible.defined())
        return at::scaled_dot_product_attention(q, k, v, visible, 0.0, false, scale);
    return at::scaled_dot_product_attention(q, k, v, {}, 0.0, true, scale);
#else
    return {};
#endif
}

void show(TapObserver& observer, Tap tap, const at::Tensor& values) {
    if (observer.wants(tap))
        observer.see(tap, values);
}

/// Attention that computes its probabilities explicitly, so that they can be observed and scaled.
at::Tensor attendedWithProbabilities(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const AttentionInput& input, TapObserver& observer) {
    const at::Tensor visible = visibleTo(input, 0, input.positions, k.size(2), q.device());
    at::Tensor p = plainProbabilities(q, k, visible, input.layer.spec.scoreScale, input.spec.scoreSoftcap);
    if (input.attentionScales.defined())
        p = p * input.attentionScales.view({-1, 1, 1, 1});
    show(observer, Tap::attention, p);
    return at::matmul(p, v.to(p.scalar_type())).to(q.scalar_type());
}

at::Tensor attended(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionInput& input,
                    TapObserver& observer) {
    const LayerSpec& spec = input.layer.spec;
    if (q.numel() == 0) // libtorch's fused attention may return an undefined tensor for it
        return q;
    if (observer.wants(Tap::attention) || input.attentionScales.defined())
        return attendedWithProbabilities(q, k, v, input, observer);
    // The backward pass of the fused attention asserts strides that some shapes do not have (libtorch 2.11).
    const bool isFused =
        hasFusedAttention && !q.device().is_cpu() && input.spec.scoreSoftcap == 0 && !c10::GradMode::is_enabled();
    // Padding is at the end of rows. Causal queries do not see it, and need no mask.
    if (isFused && input.causal() && spec.window == 0 && !input.cache)
        return fusedAttention(q, k, v, {}, spec.scoreScale);
    const at::Tensor visible = visibleTo(input, 0, input.positions, k.size(2), q.device());
    if (isFused)
        return fusedAttention(q, k, v, visible, spec.scoreScale);
    return plainAttention(q, k, v, visible, spec.scoreScale, input.spec.scoreSoftcap);
}

} // namespace

at::Tensor rotaryRows(const at::Tensor& table, const AttentionInput& input) {
    const auto from = [&](int first) { return table.narrow(0, first, input.positions); };
    if (std::ranges::adjacent_find(input.first, std::not_equal_to()) == input.first.end())
        return from(input.first.front()).unsqueeze(0);
    std::vector<at::Tensor> rows;
    for (const int first : input.first)
        rows.push_back(from(first));
    return at::stack(rows);
}

namespace {

/// Normalises heads, if the layer has a norm for them, and rotates them. -> [rows, heads, positions, headDim]
/// @param heads [rows, positions, heads, headDim]
at::Tensor rotated(const at::Tensor& heads, const Norm& norm, const AttentionInput& input) {
    at::Tensor x = norm ? plainNorm(heads, norm.kind, norm.epsilon, norm.weight, norm.bias) : heads;
    x = x.transpose(1, 2);
    if (!input.rotary.cosines.defined())
        return x;
    return plainRotary(x, rotaryRows(input.rotary.cosines, input), rotaryRows(input.rotary.sines, input));
}

/// Appends keys and values to the cache. Returns all keys and values that the cache then contains.
std::pair<at::Tensor, at::Tensor> throughCache(const at::Tensor& k, const at::Tensor& v, const AttentionInput& input) {
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

} // namespace

PlainMath::PlainMath(ComputeType type)
    : m_type(scalarTypeOf(type)) {}

at::Tensor PlainMath::normalised(const Norm& norm, const at::Tensor& x) const {
    return forProduct(normalisedStream(norm, x));
}

at::Tensor PlainMath::normalisedStream(const Norm& norm, const at::Tensor& x) const {
    return plainNorm(x, norm.kind, norm.epsilon, norm.weight, norm.bias);
}

std::pair<at::Tensor, at::Tensor> PlainMath::addAndNormalise(const Norm& norm, const at::Tensor& x,
                                                             const at::Tensor& added) const {
    const at::Tensor sum = x + added;
    return {sum, normalised(norm, sum)};
}

at::Tensor PlainMath::forProduct(const at::Tensor& x) const {
    return x.to(m_type);
}

at::Tensor PlainMath::linear(const Linear& linear, const at::Tensor& input) const {
    const at::Tensor x = scaledInput(linear, input);
    const at::Tensor product = at::matmul(x, linear.weight.t()).to(at::kFloat);
    return withUpdates(linear.bias.defined() ? product + linear.bias : product, linear, x);
}

at::Tensor PlainMath::addLinear(at::Tensor sum, const Linear& wanted, const at::Tensor& input) const {
    return sum + linear(wanted, input);
}

at::Tensor PlainMath::activated(const at::Tensor& projected, Activation activation, bool gated) const {
    return forProduct(plainActivation(projected, activation, gated));
}

at::Tensor PlainMath::addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer,
                             const at::Tensor& input, bool) const {
    return addLinear(sum, layer.down, activated(linear(layer.gateUp, input), spec.activation, spec.gatedMlp));
}

at::Tensor PlainMath::context(const at::Tensor& projected, const AttentionInput& input, TapObserver& observer) const {
    const ProjectedHeads heads = projectedHeads(projected, input, observer);
    const at::Tensor q = rotated(heads.queries, input.layer.queryNorm, input);
    at::Tensor k = rotated(heads.keys, input.layer.keyNorm, input);
    at::Tensor v = heads.values.transpose(1, 2);
    if (input.cache)
        std::tie(k, v) = throughCache(k, v, input);
    if (observer.wantsAttention())
        showAttention(q, k, input, observer);
    showAttentionFeatures(q, k, input, observer);
    return contextOf(q.to(m_type), k.to(m_type), v.to(m_type), input, observer);
}

at::Tensor PlainMath::contextOf(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                const AttentionInput& input, TapObserver& observer) {
    const bool sharesKeys = k.size(1) != q.size(1);
    const at::Tensor kvHeads = sharesKeys ? kvHeadOf(input.layer, k.device()) : at::Tensor();
    const auto ofHeads = [&](const at::Tensor& all) { return sharesKeys ? all.index_select(1, kvHeads) : all; };
    const at::Tensor gathered = attended(q, ofHeads(k), ofHeads(v), input, observer);
    const at::Tensor context = gathered.transpose(1, 2).reshape({input.rows * input.positions, -1});
    show(observer, Tap::context, context);
    return context;
}

void PlainMath::crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap,
                             std::span<float> losses, std::span<std::uint8_t> greedy) const {
    const std::vector<std::int64_t> wanted(targets.begin(), targets.end());
    const at::Tensor indices = at::tensor(wanted, at::kLong).to(logits.device());
    const at::Tensor nats = plainCrossEntropy(logits, indices, softcap).cpu().contiguous();
    const at::Tensor isLargest = logits.argmax(-1).eq(indices).cpu().to(at::kByte).contiguous();
    std::copy_n(nats.data_ptr<float>(), nats.numel(), losses.begin());
    std::copy_n(isLargest.data_ptr<std::uint8_t>(), isLargest.numel(), greedy.begin());
}

std::unique_ptr<const LayerMath> plainMath(ComputeType type) {
    return std::make_unique<PlainMath>(type);
}

} // namespace secateur
