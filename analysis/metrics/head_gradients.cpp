#include "analysis/metrics/head_gradients.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <vector>

namespace secateur {

namespace {

constexpr std::int64_t mostElements = 1 << 24; ///< of what exists at once

/// Of some rows at a time what they come to, put together. On the processor each thread takes rows of its own: products
/// of a row's heads are too small to be shared out.
template <typename OfRows>
at::Tensor byRows(const at::Tensor& rows, std::int64_t elementsOfRow, const OfRows& ofRows) {
    const std::int64_t count = rows.size(0);
    const std::int64_t most = std::max<std::int64_t>(1, mostElements / std::max<std::int64_t>(1, elementsOfRow));
    const std::int64_t step = rows.device().is_cpu() ? 1 : std::min(most, count);
    std::vector<at::Tensor> parts(static_cast<std::size_t>((count + step - 1) / step));
    const auto take = [&](std::int64_t part) {
        parts[static_cast<std::size_t>(part)] = ofRows(part * step, std::min(step, count - part * step));
    };
    if (step > 1) {
        for (std::int64_t part = 0; part < std::ssize(parts); ++part)
            take(part);
        return at::cat(parts);
    }
    at::parallel_for(0, std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t end) {
        const c10::NoGradGuard noGraph;
        for (std::int64_t part = begin; part < end; ++part)
            take(part);
    });
    return at::cat(parts);
}

} // namespace

NormForm fasterForm(std::int64_t positions, std::int64_t hidden) {
    return 4 * positions < hidden ? NormForm::tokens : NormForm::matrix;
}

// The products of tokens are formed in float64: where gradients of tokens cancel in G (keys, for a constant added to
// all of them changes nothing), what is left of the sum of products is of second order.
ProjectionNorms::ProjectionNorms(const at::Tensor& input, std::optional<NormForm> form)
    : m_input(input) {
    if (form.value_or(fasterForm(input.size(1), input.size(2))) == NormForm::matrix)
        return;
    m_products = byRows(input, input.size(1) * input.size(1), [&](std::int64_t row, std::int64_t count) {
        const at::Tensor wide = input.narrow(0, row, count).to(at::kDouble);
        return at::bmm(wide, wide.transpose(1, 2));
    });
}

at::Tensor ProjectionNorms::squares(const at::Tensor& delta) const {
    const std::int64_t positions = delta.size(1);
    const std::int64_t heads = delta.size(2);
    if (!m_products.defined())
        return byRows(delta, heads * delta.size(3) * m_input.size(2), [&](std::int64_t row, std::int64_t count) {
            return squaredNorms(projectionGradients(delta.narrow(0, row, count), m_input.narrow(0, row, count)));
        });
    const at::Tensor squares = byRows(delta, heads * positions * positions, [&](std::int64_t row, std::int64_t count) {
        const at::Tensor own = delta.narrow(0, row, count).to(at::kDouble).transpose(1, 2).contiguous();
        const at::Tensor products = at::matmul(own, own.transpose(2, 3)); // [rows, heads, positions, positions]
        return products.mul_(m_products.narrow(0, row, count).unsqueeze(1)).sum({2, 3}).clamp_min(0);
    });
    return squares.to(at::kCPU);
}

at::Tensor projectionGradients(const at::Tensor& delta, const at::Tensor& input) {
    const at::Tensor flat = delta.to(at::kFloat).flatten(2); // [rows, positions, heads * headDim]
    return at::bmm(flat.transpose(1, 2), input.to(at::kFloat))
        .view({delta.size(0), delta.size(2), delta.size(3), input.size(2)});
}

at::Tensor squaredNorms(const at::Tensor& gradients) {
    return gradients.square().sum({2, 3}, false, at::kDouble).to(at::kCPU);
}

at::Tensor tokenGates(const TapGradient& context) {
    if (!context.gradient.defined())
        return at::zeros(context.value.sizes().slice(0, 3), at::kDouble);
    return (context.value * context.gradient).sum(3, false, at::kDouble).to(at::kCPU);
}

} // namespace secateur
