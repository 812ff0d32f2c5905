#include "backends/kernels/machine_kernels.h"

#include "analysis/base/error.h"
#include "analysis/model/rows.h"
#include "backends/kernels/amx_products.h"
#include "backends/kernels/onednn.h"
#include "backends/kernels/rounding.h"

#include <ATen/ATen.h>

#include <dnnl.hpp>

#include <array>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// The pairs of tensors whose products are summed. The product of low with low is left out.
std::vector<std::pair<at::Tensor, at::Tensor>> pairsOf(const Rows& a, const Rows& b) {
    std::vector<std::pair<at::Tensor, at::Tensor>> pairs{{a.high, b.high}};
    if (a.low.defined())
        pairs.emplace_back(a.low, b.high);
    if (b.low.defined())
        pairs.emplace_back(a.high, b.low);
    return pairs;
}

bool processorHas(dnnl::cpu_isa wanted) {
    const auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
    return (bits(dnnl::get_effective_cpu_isa()) & bits(wanted)) == bits(wanted);
}

/// Whether the processor has matrix tiles, and oneDNN may use them (ONEDNN_MAX_CPU_ISA can forbid it).
bool hasTiles() {
    return processorHas(dnnl::cpu_isa::avx512_core_amx);
}

class MachineKernels : public Kernels {
public:
    std::span<const Precision> precisions() const override {
        // `split` needs three bfloat16 products. Except on tiles, they take longer than one float32 product.
        static constexpr std::array tiles{Precision::bf16, Precision::split, Precision::float32};
        static constexpr std::array vectors{Precision::bf16, Precision::float32};
        static constexpr std::array neither{Precision::float32};
        if (hasTiles())
            return tiles;
        if (multipliesBfloat16Fast())
            return vectors;
        return neither;
    }

    Rows rows(const at::Tensor& source, const at::Tensor& gain, std::int64_t blockRows, std::int64_t repeats,
              Precision precision) const override {
        return roundedRows(source, gain, blockRows, repeats, precision);
    }

    at::Tensor product(const at::Tensor& a, const at::Tensor& b) const override { return onednn::product(a, b); }

    at::Tensor grams(const Rows& rows, std::int64_t blocks) const override {
        if (hasTiles() && amx::suitsGrams(rows.high, blocks))
            return amx::grams(rows.high, rows.low, blocks);
        return Kernels::grams(rows, blocks);
    }

    std::unique_ptr<GramInnerProducts> gramInnerProducts(const at::Tensor& query, const at::Tensor& key,
                                                         const at::Tensor& gain, std::int64_t blocks,
                                                         const std::function<void()>& between) const override {
        if (!hasTiles() || !amx::suitsGramInnerProducts(query, key, blocks))
            return nullptr;
        return std::make_unique<GramInnerProducts>(amx::gramInnerProducts(query, key, gain, blocks, between));
    }

    at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b) const override {
        return secateur::innerProducts(a, b);
    }

    at::Tensor columnSquares(const at::Tensor& weight) const override {
        // ATen computes types with numbers that float32 cannot represent.
        const bool isWider = weight.scalar_type() == at::kDouble || !weight.is_floating_point();
        return isWider ? plainKernels().columnSquares(weight) : secateur::columnSquares(weight);
    }

    const TokenKernels& tokens() const override { return machineTokenKernels(); }

    double squaredNormOfProduct(const Rows& a, const Rows& b, const std::function<void()>& between) const override {
        const auto pairs = pairsOf(a, b);
        if (hasTiles() && amx::suitsNorm(a.high, b.high))
            return amx::squaredNorm(pairs, between);
        return onednn::squaredNorm(pairs, between);
    }
};

} // namespace

bool multipliesBfloat16() {
    return processorHas(dnnl::cpu_isa::avx512_core);
}

bool multipliesBfloat16Fast() {
    return processorHas(dnnl::cpu_isa::avx512_core_bf16);
}

const Kernels& machineKernels() {
    static const MachineKernels kernels;
    return kernels;
}

std::shared_ptr<const Kernels> kernelsOf(const std::string& device) {
    if (device == "cpu")
        return {std::shared_ptr<void>(), &machineKernels()};
    if (!at::hasCUDA())
        throw Error("is not available: there is no CUDA device, or libtorch was built without CUDA", device,
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
