#include "analysis/compensation/compensation_mode.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace secateur {

namespace {

constexpr std::array modes{
    CompensationModeInfo{CompensationMode::own, "own", "The compensation that the mask or its strategy has"},
    CompensationModeInfo{CompensationMode::none, "none", "No compensation"},
    CompensationModeInfo{CompensationMode::bias, "bias", "Biases that add the mean of what is missing (FLAP)"},
    CompensationModeInfo{CompensationMode::scale, "scale", "A factor for each kept head and neuron"},
    CompensationModeInfo{CompensationMode::both, "both", "Factors and biases, fitted together"},
    CompensationModeInfo{CompensationMode::weights, "weights", "New weights of the kept columns"},
};

} // namespace

std::span<const CompensationModeInfo> compensationModes() {
    return modes;
}

std::string_view name(CompensationMode mode) {
    return std::ranges::find(modes, mode, &CompensationModeInfo::mode)->name;
}

CompensationMode compensationModeOf(std::string_view name) {
    const auto found = std::ranges::find(modes, name, &CompensationModeInfo::name);
    if (found != modes.end())
        return found->mode;
    std::vector<std::string> names;
    for (const CompensationModeInfo& known : modes)
        names.emplace_back(known.name);
    throw UsageError(fmt::format("\"{}\" is not a mode of compensation: use {}", name, join(names, ", ")),
                     "--compensate");
}

} // namespace secateur
