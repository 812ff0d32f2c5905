#include "backends/kernels/machine_kernels.h"

#include "analysis/error.h"
#include "analysis/rows.h"
#include "backends/kernels/amx_products.h"
#include "backends/kernels/onednn.h"
#include "backends/kernels/rounding.h"
#include "backends/kernels/token_loops.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace secateur {

namespace {

using dnnl::memory;
using onednn::descriptor;
using onednn::plainFloats;
using onednn::Product;
using onednn::view;

/// Whichever layout oneDNN multiplies fastest.
memory::desc anyLayout(const at::Tensor& tensor) {
    return {tensor.sizes().vec(), onednn::typeOf(tensor), memory::format_tag::any};
}

double sumOfSquares(const at::Tensor& block) {
    const std::int64_t columns = block.size(1);
    const auto* values = block.data_ptr<float>();
    return at::parallel_reduce(
        0, block.size(0), 16, 0.0,
        [&](std::int64_t begin, std::int64_t end, double sum) {
            return sum + secateur::sumOfSquares(values + begin * columns, (end - begin) * columns);
        },
        [](double a, double b) { return a + b; });
}

/// Matrices whose products a^T b are summed.
using Pairs = std::vector<std::pair<at::Tensor, at::Tensor>>;

/// Of the halves of both; the product of the two lower ones is left out.
Pairs pairsOf(const Rows& a, const Rows& b) {
    Pairs pairs{{a.high, b.high}};
    if (a.low.defined())
        pairs.emplace_back(a.low, b.high);
    if (b.low.defined())
        pairs.emplace_back(a.high, b.low);
    return pairs;
}

/// ||a^T b||_F^2 by blocks of rows of a^T, each the sum of the products of some pairs.
class BlockedNorm {
public:
    /// The widest block: long enough for full speed, short enough for a cancel.
    static constexpr std::int64_t mostColumns = 1280;

    explicit BlockedNorm(Pairs pairs)
        : m_columns(pairs.front().first.size(1))
        , m_pairs(std::move(pairs)) {
        for (const auto& [left, right] : m_pairs) {
            const bool known = !m_packed.empty() && right.is_same(m_pairs[m_packed.size() - 1].second);
            m_packed.push_back(known ? m_packed.back() : packed(left, right));
        }
    }

    double of(const std::function<void()>& between) {
        double sum = 0;
        for (std::int64_t begin = 0; begin < m_columns; begin += mostColumns) {
            between();
            sum += block(begin, std::min(mostColumns, m_columns - begin));
        }
        return sum;
    }

private:
    memory packed(const at::Tensor& left, const at::Tensor& right) {
        const std::int64_t columns = std::min(mostColumns, m_columns);
        const at::Tensor turned = at::empty({columns, left.size(0)}, left.options());
        const Product product(descriptor(turned), anyLayout(right), plainFloats({columns, right.size(1)}), false);
        return onednn::reordered(right, product.weights(), m_stream);
    }

    double block(std::int64_t begin, std::int64_t columns) {
        const at::Tensor sum = at::empty({columns, m_pairs.front().second.size(1)}, at::kFloat);
        for (std::size_t i = 0; i < m_pairs.size(); ++i) {
            const at::Tensor& left = m_pairs[i].first;
            const at::Tensor turned = at::empty({columns, left.size(0)}, left.options());
            memory source = view(left.narrow(1, begin, columns).t());
            memory target = view(turned);
            dnnl::reorder(source, target).execute(m_stream, source, target);
            const Product product(descriptor(turned), m_packed[i].get_desc(), descriptor(sum), i > 0);
            product.run(m_stream, target, m_packed[i], view(sum));
        }
        return sumOfSquares(sum);
    }

    std::int64_t m_columns;
    Pairs m_pairs;
    std::vector<memory> m_packed; ///< the right sides
    dnnl::stream m_stream{onednn::engine()};
};

at::Tensor multiplied(const at::Tensor& a, const at::Tensor& b) {
    std::vector<std::int64_t> sizes = a.sizes().vec();
    sizes.back() = b.size(-1);
    at::Tensor result = at::empty(sizes, at::kFloat);
    dnnl::stream stream(onednn::engine());
    Product(descriptor(a), descriptor(b), descriptor(result), false).run(stream, view(a), view(b), view(result));
    return result;
}

/// Of rows by themselves: the lower half, some rows at a time, and the upper one from it.
at::Tensor gramOf(const at::Tensor& rows) {
    constexpr std::int64_t step = 256;
    const std::int64_t count = rows.size(0);
    at::Tensor gram = at::empty({count, count}, at::kFloat);
    for (std::int64_t begin = 0; begin < count; begin += step) {
        const std::int64_t size = std::min(step, count - begin);
        const at::Tensor lower = multiplied(rows.narrow(0, begin, size), rows.narrow(0, 0, begin + size).t());
        gram.narrow(0, begin, size).narrow(1, 0, begin + size).copy_(lower);
        gram.narrow(0, 0, begin).narrow(1, begin, size).copy_(lower.narrow(1, 0, begin).t());
    }
    return gram;
}

bool has(dnnl::cpu_isa wanted) {
    const auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
    return (bits(dnnl::get_effective_cpu_isa()) & bits(wanted)) == bits(wanted);
}

/// Whether the processor multiplies by matrix tiles, and nobody forbade oneDNN to.
bool hasTiles() {
    return has(dnnl::cpu_isa::avx512_core_amx);
}

class MachineKernels : public Kernels {
public:
    std::span<const Precision> precisions() const override {
        // Three products of halves take longer than one in float32, except on tiles.
        static constexpr std::array tiles{Precision::bf16, Precision::split, Precision::float32};
        static constexpr std::array vectors{Precision::bf16, Precision::float32};
        static constexpr std::array neither{Precision::float32};
        if (hasTiles())
            return tiles;
        if (has(dnnl::cpu_isa::avx512_core_bf16))
            return vectors;
        return neither;
    }

    Rows rows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
              Precision precision) const override {
        return roundedRows(source, gain, blockRows, repeats, precision);
    }

    at::Tensor product(const at::Tensor& a, const at::Tensor& b) const override {
        if (hasTiles() && amx::suits(a, b))
            return amx::product(a, b);
        return a.dim() == 2 && amx::isTransposeOf(b, a) ? gramOf(a) : multiplied(a, b);
    }

    at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b) const override {
        return secateur::innerProducts(a, b);
    }

    at::Tensor columnSquares(const at::Tensor& weight) const override {
        // Numbers that float32 does not hold are left to ATen.
        const bool isWider = weight.scalar_type() == at::kDouble || !weight.is_floating_point();
        return isWider ? plainKernels().columnSquares(weight) : secateur::columnSquares(weight);
    }

    const TokenKernels& tokens() const override { return machineTokenKernels(); }

    double squaredNormOfProduct(const Rows& a, const Rows& b, const std::function<void()>& between) const override {
        const Pairs pairs = pairsOf(a, b);
        if (hasTiles() && amx::suits(a.high.t(), b.high))
            return amx::squaredNorm(pairs, between);
        return BlockedNorm(pairs).of(between);
    }
};

} // namespace

const Kernels& machineKernels() {
    static const MachineKernels kernels;
    return kernels;
}

std::shared_ptr<const Kernels> kernelsOf(const std::string& device) {
    if (device == "cpu")
        return {std::shared_ptr<void>(), &machineKernels()};
    if (!at::hasCUDA())
        throw Error("cannot be used: there is no CUDA here, or libtorch was built without it", device,
                    "Leave out --device, or use a libtorch with CUDA");
    std::unique_ptr<const Kernels> kernels = plainKernelsOn(device);
    try {
        at::zeros({1}, at::TensorOptions(at::Device(device)));
    } catch (const c10::Error& error) {
        throw Error(error.what_without_backtrace(), device);
    }
    return kernels;
}

} // namespace secateur
