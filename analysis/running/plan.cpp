#include "analysis/running/plan.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <array>

namespace secateur {

namespace {

constexpr std::array names{std::string_view("auto"), std::string_view("float32"), std::string_view("bfloat16"),
                           std::string_view("float16")};

} // namespace

std::string_view name(ComputeType type) {
    return names[static_cast<std::size_t>(type)];
}

ComputeType computeTypeOf(std::string_view wanted) {
    for (std::size_t i = 0; i < names.size(); ++i)
        if (names[i] == wanted)
            return static_cast<ComputeType>(i);
    throw Error(fmt::format("\"{}\" is not a dtype of matrix products", wanted), {},
                "The dtypes are: auto, float32, bfloat16, float16");
}

} // namespace secateur
