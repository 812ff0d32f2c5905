#pragma once

#include <span>
#include <string_view>

namespace secateur {

/// What is changed to compensate for cuts (resources/manual/strategies.md, Modes of compensation). `own`: what the
/// strategy of the mask brings. `none`: nothing, and what the mask has is removed.
enum class CompensationMode { own, none, bias, scale, both, weights };

struct CompensationModeInfo {
    CompensationMode mode;
    std::string_view name;
    std::string_view summary;
};

/// All modes, in the order in which lists show them.
std::span<const CompensationModeInfo> compensationModes();
std::string_view name(CompensationMode mode);
/// The mode with this name. @throws UsageError that lists the modes
CompensationMode compensationModeOf(std::string_view name);

} // namespace secateur
