#include "backends/kernels/plain_loops.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace secateur {

namespace {

/// Converts to float32. float64 is unchanged.
at::Tensor widened(const at::Tensor& x) {
    return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

/// Applies an activation function. at::gelu() is not used: far below 0, its terms 1 + erf() and 1 + tanh() lose all
/// digits by cancellation.
at::Tensor activated(const at::Tensor& x, Activation activation) {
    switch (activation) {
    case Activation::silu:
        return at::silu(x);
    case Activation::geluTanh:
        return at::sigmoid((x + 0.044715 * x.pow(3)) * std::sqrt(8 / std::numbers::pi)) * x;
    case Activation::geluErf:
        return at::erfc(x * -std::sqrt(0.5)) * x * 0.5;
    case Activation::relu:
        return at::relu(x);
    }
    return x;
}

at::Tensor columnOf(std::span<const int> values, const c10::Device& device) {
    at::Tensor column = at::empty({static_cast<std::int64_t>(values.size()), 1, 1, 1}, at::kLong);
    auto* numbers = column.data_ptr<std::int64_t>();
    for (std::size_t i = 0; i < values.size(); ++i)
        numbers[i] = values[i];
    return column.to(device, at::kLong, true); // a GPU need not finish its work before
}

/// Repeats each key or value head for the query heads of its KV group.
at::Tensor repeated(const at::Tensor& heads, std::int64_t count) {
    return heads.size(1) == count ? heads : heads.repeat_interleave(count / heads.size(1), 1);
}

} // namespace

at::Tensor plainNorm(const at::Tensor& x, NormKind kind, double epsilon, const at::Tensor& weight,
                     const at::Tensor& bias) {
    at::Tensor result = widened(x);
    if (kind == NormKind::layer)
        result = result - result.mean(-1, true);
    result = result * at::rsqrt(result.square().mean(-1, true) + epsilon);
    if (weight.defined())
        result = result * weight.to(result.scalar_type());
    if (bias.defined())
        result = result + bias.to(result.scalar_type());
    return result.to(x.scalar_type());
}

at::Tensor plainRotary(const at::Tensor& heads, const at::Tensor& cosines, const at::Tensor& sines) {
    const std::int64_t pairs = cosines.size(-1);
    if (pairs == 0)
        return heads;
    const at::Tensor all = widened(heads);
    const auto parts = all.split_with_sizes({pairs, pairs, all.size(-1) - 2 * pairs}, -1);
    const at::Tensor& low = parts[0];
    const at::Tensor& high = parts[1];
    const at::Tensor cosine = cosines.unsqueeze(1).to(all.scalar_type());
    const at::Tensor sine = sines.unsqueeze(1).to(all.scalar_type());
    return at::cat({low * cosine - high * sine, high * cosine + low * sine, parts[2]}, -1).to(heads.scalar_type());
}

at::Tensor visibleKeys(std::span<const int> first, std::span<const int> lengths, std::int64_t queries,
                       std::int64_t keys, bool causal, int window, const c10::Device& device) {
    const auto numbers = at::TensorOptions(at::kLong).device(device);
    const at::Tensor begin = columnOf(first, device);
    const at::Tensor end = begin + columnOf(lengths, device);
    const at::Tensor position = begin + at::arange(queries, numbers).view({1, 1, -1, 1});
    const at::Tensor key = at::arange(keys, numbers).view({1, 1, 1, -1});
    at::Tensor visible = key.lt(end);
    if (causal)
        visible = visible.logical_and(key.le(position));
    if (window > 0)
        visible = visible.logical_and(key.gt(position - window));
    if (window > 0 && !causal)
        visible = visible.logical_and(key.lt(position + window));
    const at::Tensor own = key.eq(position.clamp_max(keys - 1));
    const at::Tensor blind = visible.any(-1, true).logical_not().logical_or(position.ge(end));
    return at::where(blind, own, visible);
}

at::Tensor plainProbabilities(const at::Tensor& q, const at::Tensor& k, const at::Tensor& mask, double scale,
                              double softcap) {
    const at::Tensor keys = widened(repeated(k, q.size(1)));
    at::Tensor scores = plainSoftcap(at::matmul(widened(q), keys.transpose(-1, -2)) * scale, softcap);
    if (mask.defined())
        scores = scores.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
    return at::softmax(scores, -1);
}

at::Tensor plainAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& mask,
                          double scale, double softcap) {
    const at::Tensor p = plainProbabilities(q, k, mask, scale, softcap);
    return at::matmul(p, widened(repeated(v, q.size(1)))).to(q.scalar_type());
}

at::Tensor plainActivation(const at::Tensor& projected, Activation activation, bool gated) {
    const at::Tensor all = widened(projected);
    if (!gated)
        return activated(all, activation).to(projected.scalar_type());
    const std::int64_t width = all.size(-1) / 2;
    return (activated(all.narrow(-1, 0, width), activation) * all.narrow(-1, width, width)).to(projected.scalar_type());
}

at::Tensor plainSoftcap(const at::Tensor& x, double softcap) {
    return softcap > 0 ? at::tanh(x / softcap) * softcap : x;
}

at::Tensor plainCrossEntropy(const at::Tensor& logits, const at::Tensor& targets, double softcap) {
    const at::Tensor scores = at::log_softmax(plainSoftcap(widened(logits), softcap), -1);
    const at::Tensor chosen = scores.gather(-1, targets.clamp_min(0).unsqueeze(-1)).squeeze(-1);
    return at::where(targets.lt(0), at::zeros_like(chosen), -chosen);
}

} // namespace secateur
