#include "backends/engine/layer_math.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

namespace secateur {

namespace {

using torch::autograd::Node;
using torch::autograd::variable_list;

/// What a step gives for the gradient of what it made: the gradient of what it read.
using Back = std::function<at::Tensor(const at::Tensor& gradient)>;

/// A step of autograd's graph whose gradient is known.
class KnownStep : public Node {
public:
    explicit KnownStep(Back back)
        : m_back(std::move(back)) {}

    void release_variables() override { m_back = {}; }

private:
    variable_list apply(variable_list&& gradients) override {
        if (!gradients.front().defined())
            return {at::Tensor()};
        const c10::NoGradGuard noGraph;
        return {m_back(gradients.front().contiguous())};
    }

    Back m_back;
};

/// What was made of `input`, as a step of its graph.
at::Tensor withStep(const at::Tensor& input, at::Tensor made, Back back) {
    if (!c10::GradMode::is_enabled() || !input.requires_grad())
        return made;
    const std::shared_ptr<Node> step(new KnownStep(std::move(back)), torch::autograd::deleteNode);
    step->set_next_edges(torch::autograd::collect_next_edges(input));
    torch::autograd::create_gradient_edge(made, step);
    return made;
}

/// rows(begin, count) for some rows at a time, few enough to stay in the cache between the operations on them.
template <typename Rows>
void byRows(std::int64_t count, std::int64_t width, const Rows& rows) {
    constexpr std::int64_t numbers = 1 << 15;
    const std::int64_t step = std::max<std::int64_t>(1, numbers / std::max<std::int64_t>(1, width));
    at::parallel_for(0, (count + step - 1) / step, 1, [&](std::int64_t begin, std::int64_t end) {
        const c10::NoGradGuard noGraph;
        for (std::int64_t block = begin; block < end; ++block)
            rows(block * step, std::min(step, count - block * step));
    });
}

/// Of y = w (x - m) r + b, where m is x's mean or 0 and r the root of its mean square: r (v - mean(v) - z mean(v z)),
/// with z = (x - m) r and v = w dy.
at::Tensor throughNorm(const Norm& norm, const at::Tensor& x, const at::Tensor& gradient) {
    const bool isCentred = norm.kind == NormKind::layer;
    at::Tensor result = at::empty_like(x);
    byRows(x.size(0), x.size(1), [&](std::int64_t begin, std::int64_t count) {
        const at::Tensor own = x.narrow(0, begin, count);
        at::Tensor z = isCentred ? own - own.mean(-1, true) : own.clone();
        const at::Tensor root = at::rsqrt(z.square().mean(-1, true).add_(norm.epsilon));
        z.mul_(root);
        at::Tensor v = gradient.narrow(0, begin, count) * norm.weight;
        const at::Tensor along = (v * z).mean(-1, true);
        if (isCentred)
            v.sub_(v.mean(-1, true));
        result.narrow(0, begin, count).copy_(v.sub_(z.mul_(along)).mul_(root));
    });
    return result;
}

struct ValueAndSlope {
    at::Tensor value;
    at::Tensor slope;
};

/// With the same formulas as plainActivation().
ValueAndSlope activation(const at::Tensor& x, Activation kind) {
    switch (kind) {
    case Activation::silu: {
        const at::Tensor share = at::sigmoid(x);
        const at::Tensor value = x * share;
        return {value, share + value * (1 - share)};
    }
    case Activation::geluTanh: {
        constexpr double cubic = 0.044715;
        const double scale = std::sqrt(8 / std::numbers::pi);
        const at::Tensor square = x.square();
        const at::Tensor share = at::sigmoid((square * cubic + 1) * x * scale);
        const at::Tensor value = x * share;
        return {value, share + value * (1 - share) * (square * (3 * cubic) + 1) * scale};
    }
    case Activation::geluErf: {
        const at::Tensor share = at::erfc(x * -std::sqrt(0.5)) * 0.5;
        return {x * share, share + x * at::exp(x.square() * -0.5) / std::sqrt(2 * std::numbers::pi)};
    }
    case Activation::relu:
        break;
    }
    return {at::relu(x), x.gt(0).to(x.scalar_type())};
}

at::Tensor throughActivation(const at::Tensor& projected, Activation kind, bool gated, const at::Tensor& gradient) {
    at::Tensor result = at::empty_like(projected);
    const std::int64_t width = gradient.size(1);
    byRows(projected.size(0), projected.size(1), [&](std::int64_t begin, std::int64_t count) {
        const at::Tensor all = projected.narrow(0, begin, count);
        const at::Tensor own = gradient.narrow(0, begin, count);
        at::Tensor out = result.narrow(0, begin, count);
        const auto [value, slope] = activation(all.narrow(1, 0, width), kind);
        if (!gated) {
            out.copy_(own * slope);
            return;
        }
        out.narrow(1, 0, width).copy_(slope.mul(own).mul_(all.narrow(1, width, width)));
        out.narrow(1, width, width).copy_(value * own);
    });
    return result;
}

/// Forward as the processor's own loops go, backward by formulas; what has none of its own is ATen's.
class GradientMath : public LayerMath {
public:
    at::Tensor normed(const Norm& norm, const at::Tensor& x) const override { return normedStream(norm, x); }

    at::Tensor normedStream(const Norm& norm, const at::Tensor& x) const override {
        const at::Tensor values = x.detach();
        return withStep(x, forward([&] { return m_fused->normedStream(norm, values.contiguous()); }),
                        [=](const at::Tensor& gradient) { return throughNorm(norm, values, gradient); });
    }

    std::pair<at::Tensor, at::Tensor> addAndNorm(const Norm& norm, const at::Tensor& x,
                                                 const at::Tensor& added) const override {
        const at::Tensor sum = x + added;
        return {sum, normedStream(norm, sum)};
    }

    at::Tensor forProduct(const at::Tensor& x) const override { return x; }

    at::Tensor linear(const Linear& linear, const at::Tensor& input) const override {
        if (!linear.packed)
            return m_plain->linear(linear, input);
        const at::Tensor values = input.detach();
        return withStep(input, forward([&] { return m_fused->linear(linear, values.contiguous()); }),
                        backThrough(linear));
    }

    at::Tensor addLinear(at::Tensor sum, const Linear& wanted, const at::Tensor& input) const override {
        return sum + linear(wanted, input);
    }

    at::Tensor activated(const at::Tensor& projected, Activation kind, bool gated) const override {
        const at::Tensor values = projected.detach();
        return withStep(projected, forward([&] { return m_fused->activated(values, kind, gated); }),
                        [=](const at::Tensor& gradient) { return throughActivation(values, kind, gated, gradient); });
    }

    at::Tensor addMlp(const at::Tensor& sum, const ModelSpec& spec, const PlanLayer& layer, const at::Tensor& read,
                      bool isLast) const override {
        const at::Tensor hidden = activated(linear(layer.gateUp, read), spec.activation, spec.gatedMlp);
        if (!isLast || !layer.down.packed)
            return addLinear(sum, layer.down, hidden);
        const at::Tensor nothing = at::zeros({1, 1}, sum.options()).expand_as(sum);
        return sum + withStep(hidden, nothing, backThrough(layer.down));
    }

    at::Tensor context(const at::Tensor& projected, const AttentionInput& input, Watch& watch) const override {
        return m_plain->context(projected, input, watch);
    }

    void crossEntropy(const at::Tensor& logits, std::span<const int> targets, float softcap, std::span<float> losses,
                      std::span<std::uint8_t> greedy) const override {
        m_fused->crossEntropy(logits, targets, softcap, losses, greedy);
    }

private:
    static Back backThrough(const Linear& linear) {
        return [back = linear.back, in = linear.in](const at::Tensor& gradient) {
            at::Tensor result = at::empty({gradient.size(0), in}, gradient.options());
            back->multiply(gradient, result, false);
            return result;
        };
    }

    template <typename Work>
    static at::Tensor forward(const Work& work) {
        const c10::NoGradGuard noGraph;
        return work();
    }

    std::unique_ptr<const LayerMath> m_fused = fusedMath(ComputeType::float32);
    std::unique_ptr<const LayerMath> m_plain = plainMath(ComputeType::float32);
};

} // namespace

std::unique_ptr<const LayerMath> gradientMath() {
    return std::make_unique<GradientMath>();
}

} // namespace secateur
