#include "backends/engine/type_choice.h"

#include "analysis/base/error.h"

#include <dnnl.hpp>

#include <fmt/format.h>

namespace secateur {

namespace {

bool processorHas(dnnl::cpu_isa wanted) {
    const auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
    return (bits(dnnl::get_effective_cpu_isa()) & bits(wanted)) == bits(wanted);
}

TypeChoice onProcessor(std::string_view storedAs) {
    if (storedAs != "BF16")
        return {ComputeType::float32,
                fmt::format("float32: rounding {} numbers to bfloat16 would change them", storedAs)};
    if (!processorHas(dnnl::cpu_isa::avx512_core_bf16))
        return {ComputeType::float32, "float32: this processor does not multiply bfloat16 any faster"};
    return {ComputeType::bfloat16, "bfloat16: the checkpoint's own type, which this processor multiplies faster"};
}

TypeChoice onDevice(std::string_view storedAs) {
    if (storedAs == "BF16")
        return {ComputeType::bfloat16, "bfloat16: the checkpoint's own type"};
    if (storedAs == "F16")
        return {ComputeType::float16, "float16: the checkpoint's own type"};
    return {ComputeType::float32, fmt::format("float32: rounding {} numbers to 16 bits would change them", storedAs)};
}

} // namespace

TypeChoice chooseType(ComputeType wanted, bool isProcessor, std::string_view storedAs) {
    if (wanted == ComputeType::automatic)
        return isProcessor ? onProcessor(storedAs) : onDevice(storedAs);
    if (isProcessor && wanted == ComputeType::float16)
        throw Error("float16 can be computed in on CUDA only", {}, "Use float32 or bfloat16");
    if (isProcessor && wanted == ComputeType::bfloat16 && !processorHas(dnnl::cpu_isa::avx512_core))
        throw Error("This processor cannot multiply bfloat16", {}, "Use float32");
    return {wanted, {}};
}

} // namespace secateur
