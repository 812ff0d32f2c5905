#include "analysis/model/kernels.h"

#include "analysis/model/rows.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <vector>

namespace secateur {

namespace {

class PlainKernels : public Kernels {
public:
    explicit PlainKernels(at::Device device)
        : m_device(device) {}

    std::string device() const override { return m_device.str(); }

    std::span<const Precision> precisions() const override {
        static constexpr std::array only{Precision::float32};
        return only;
    }

    Rows rows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
              Precision) const override {
        const std::int64_t columns = source.size(1);
        at::Tensor values = source.to(m_device).to(at::kFloat).reshape({-1, repeats, blockRows, columns}).sum(1);
        values = values.reshape({-1, columns});
        if (gain.defined())
            values = values * gain.to(m_device);
        at::Tensor squares = values.to(at::kDouble).square_().sum(1);
        at::Tensor lost = at::zeros_like(squares);
        return {std::move(values), {}, squares, squares, std::move(lost)};
    }

    at::Tensor product(const at::Tensor& a, const at::Tensor& b) const override { return at::matmul(a, b); }

    at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b) const override {
        const at::Tensor own = b.to(at::kDouble).repeat_interleave(a.size(0) / b.size(0), 0);
        return (a.to(at::kDouble) * own).sum({1, 2}).cpu();
    }

    at::Tensor columnSquares(const at::Tensor& weight) const override {
        // Computed a few rows at a time, because a whole MLP matrix in float64 would be too large.
        constexpr std::int64_t blockElements = 1 << 20;
        const std::int64_t step = std::max<std::int64_t>(1, blockElements / std::max<std::int64_t>(1, weight.size(1)));
        at::Tensor squares = at::zeros({weight.size(1)}, at::TensorOptions(m_device).dtype(at::kDouble));
        for (std::int64_t begin = 0; begin < weight.size(0); begin += step)
            squares += weight.narrow(0, begin, std::min(step, weight.size(0) - begin))
                           .to(m_device)
                           .to(at::kDouble)
                           .square()
                           .sum(0);
        return squares.cpu();
    }

    double squaredNormOfProduct(const Rows& a, const Rows& b, const std::function<void()>& between) const override {
        const std::int64_t blockColumns = m_device.is_cpu() ? 640 : 4096;
        const std::int64_t columns = a.high.size(1);
        at::Tensor sum = at::zeros({}, at::TensorOptions(m_device).dtype(at::kDouble)); // read once: reading waits
        for (std::int64_t begin = 0; begin < columns; begin += blockColumns) {
            between();
            const at::Tensor block = a.high.narrow(1, begin, std::min(blockColumns, columns - begin)).t().mm(b.high);
            sum += block.to(at::kDouble).square_().sum();
        }
        return sum.item<double>();
    }

private:
    at::Device m_device;
};

} // namespace

const char* name(Precision precision) {
    constexpr std::array names{"bf16", "split", "float32"};
    return names[static_cast<std::size_t>(precision)];
}

at::Tensor Kernels::grams(const Rows& rows, std::int64_t blocks) const {
    const auto byBlock = [&](const at::Tensor& t) { return t.view({blocks, t.size(0) / blocks, t.size(1)}); };
    const at::Tensor high = byBlock(rows.high);
    at::Tensor result = product(high, high.transpose(1, 2));
    if (rows.low.defined()) {
        const at::Tensor mixed = product(high, byBlock(rows.low).transpose(1, 2));
        result += mixed;
        result += mixed.transpose(1, 2);
    }
    return result;
}

std::unique_ptr<GramInnerProducts> Kernels::gramInnerProducts(const at::Tensor&, const at::Tensor&, const at::Tensor&,
                                                              std::int64_t, const std::function<void()>&) const {
    return nullptr;
}

const TokenKernels& Kernels::tokens() const {
    return plainTokenKernels();
}

const Kernels& plainKernels() {
    static const PlainKernels kernels(at::kCPU);
    return kernels;
}

std::unique_ptr<const Kernels> plainKernelsOn(const std::string& device) {
    return std::make_unique<PlainKernels>(at::Device(device));
}

namespace {

/// Computes results row by row and joins them, because a whole batch in float64 would be too large.
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
        std::vector<at::Tensor> heads; // one at a time: [tokens, heads, hidden] would be too large
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
