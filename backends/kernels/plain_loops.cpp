#include "backends/kernels/plain_loops.h"

#include <ATen/ATen.h>

#include <limits>
#include <vector>

namespace secateur {

namespace {

/// Float32 at least.
at::Tensor wide(const at::Tensor& x) {
    return x.scalar_type() == at::kDouble ? x : x.to(at::kFloat);
}

at::Tensor activate(const at::Tensor& x, Activation activation) {
    switch (activation) {
    case Activation::silu:
        return at::silu(x);
    case Activation::geluTanh:
        return at::gelu(x, "tanh");
    case Activation::geluErf:
        return at::gelu(x);
    case Activation::relu:
        return at::relu(x);
    }
    return x;
}

at::Tensor perRow(std::span<const int> values, const at::Device& device) {
    return at::tensor(std::vector<std::int64_t>(values.begin(), values.end())).to(device).view({-1, 1, 1, 1});
}

at::Tensor capped(const at::Tensor& x, double softcap) {
    return softcap == 0 ? x : (x / softcap).tanh() * softcap;
}

} // namespace

at::Tensor plainNorm(const at::Tensor& x, NormKind kind, double epsilon, const at::Tensor& weight,
                     const at::Tensor& bias) {
    at::Tensor values = wide(x);
    if (kind == NormKind::layer)
        values = values - values.mean(-1, true);
    values = values * (values.square().mean(-1, true) + epsilon).rsqrt() * weight;
    return bias.defined() ? values + bias : values;
}

at::Tensor plainRotary(const at::Tensor& heads, const at::Tensor& cosines, const at::Tensor& sines) {
    const std::int64_t half = cosines.size(-1);
    const at::Tensor a = heads.narrow(-1, 0, half);
    const at::Tensor b = heads.narrow(-1, half, half);
    const at::Tensor c = cosines.unsqueeze(1);
    const at::Tensor s = sines.unsqueeze(1);
    const at::Tensor rest = heads.narrow(-1, 2 * half, heads.size(-1) - 2 * half);
    return at::cat({a * c - b * s, b * c + a * s, rest}, -1);
}

at::Tensor visibleKeys(std::span<const int> first, std::span<const int> lengths, std::int64_t firstQuery,
                       std::int64_t queries, std::int64_t keys, bool causal, int window, const at::Device& device) {
    const at::TensorOptions indices = at::TensorOptions(device).dtype(at::kLong);
    const at::Tensor begin = perRow(first, device);
    const at::Tensor query = begin + at::arange(firstQuery, firstQuery + queries, indices).view({1, 1, -1, 1});
    const at::Tensor key = at::arange(keys, indices).view({1, 1, 1, -1});
    const at::Tensor end = begin + perRow(lengths, device);
    at::Tensor visible = (key < end).expand({end.size(0), 1, queries, keys});
    if (causal)
        visible = visible.logical_and(key <= query);
    if (window > 0)
        visible = visible.logical_and((query - key).abs() < window);
    return visible.logical_or(query >= end);
}

at::Tensor plainProbabilities(const at::Tensor& q, const at::Tensor& k, const at::Tensor& visible, double scale,
                              double softcap) {
    const at::Tensor scores = capped(wide(at::matmul(q, k.transpose(-1, -2))) * scale, softcap);
    return scores.masked_fill(visible.logical_not(), -std::numeric_limits<float>::infinity()).softmax(-1);
}

at::Tensor plainActivation(const at::Tensor& projected, Activation activation, bool gated) {
    const at::Tensor values = wide(projected);
    if (!gated)
        return activate(values, activation);
    const std::int64_t width = values.size(-1) / 2;
    return activate(values.narrow(-1, 0, width), activation) * values.narrow(-1, width, width);
}

at::Tensor plainCrossEntropy(const at::Tensor& logits, const at::Tensor& targets, double softcap) {
    const at::Tensor logProbabilities = capped(wide(logits), softcap).log_softmax(-1);
    return -logProbabilities.gather(-1, targets.unsqueeze(-1)).squeeze(-1);
}

} // namespace secateur
