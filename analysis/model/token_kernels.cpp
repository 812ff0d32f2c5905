#include "analysis/model/token_kernels.h"

#include <ATen/ATen.h>

#include <vector>

namespace secateur {

namespace {

/// One row at a time: a batch in float64 would be too large.
template <typename OfRow>
at::Tensor byRow(std::int64_t rows, const OfRow& ofRow) {
    std::vector<at::Tensor> parts;
    for (std::int64_t row = 0; row < rows; ++row)
        parts.push_back(ofRow(row));
    return at::stack(parts).cpu();
}

class PlainTokenKernels : public TokenKernels {
public:
    at::Tensor innerProducts(const at::Tensor& x, const at::Tensor& a, const at::Tensor& z) const override {
        return byRow(x.size(0), [&](std::int64_t row) {
            const at::Tensor u = x[row].to(at::kDouble);
            const at::Tensor v = a[row].to(at::kDouble);
            const at::Tensor w = z[row].to(at::kDouble);
            const auto dot = [](const at::Tensor& p, const at::Tensor& q) { return (p * q).sum(-1); };
            return at::stack({dot(u, u), dot(v, v), dot(w, w), dot(u, v), dot(u, w), dot(v, w)}, -1);
        });
    }

    at::Tensor weightedSums(const at::Tensor& values, const at::Tensor& factors) const override {
        return byRow(values.size(0), [&](std::int64_t row) {
            const at::Tensor own = factors[row].to(values.device());
            const at::Tensor isUsed = (own != 0).any(-1, true);
            return own.t().matmul(values[row].to(at::kDouble).masked_fill(isUsed.logical_not(), 0));
        });
    }

    at::Tensor columnSums(const at::Tensor& values, std::span<const int> lengths) const override {
        return byRow(values.size(0), [&](std::int64_t row) {
            const std::int64_t count = lengths[static_cast<std::size_t>(row)] - 1;
            const at::Tensor own = values[row].narrow(0, 1, count).to(at::kDouble);
            return at::stack({own.abs().sum(0), own.sum(0), own.square().sum(0)});
        });
    }

    at::Tensor contributions(const at::Tensor& context, const at::Tensor& weights) const override {
        const at::Tensor own = context.to(at::kFloat);
        std::vector<at::Tensor> heads; // one at a time: what all add to all tokens would be too large
        for (std::int64_t head = 0; head < weights.size(0); ++head)
            heads.push_back(
                own.select(2, head).matmul(weights[head].to(at::kFloat).t()).abs().sum(-1, false, at::kDouble));
        return at::stack(heads, -1).cpu();
    }
};

} // namespace

const TokenKernels& plainTokenKernels() {
    static const PlainTokenKernels kernels;
    return kernels;
}

} // namespace secateur
