#include "backends/engine/gradient_steps.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace secateur {

namespace {

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

} // namespace

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

} // namespace secateur
