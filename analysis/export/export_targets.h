#pragma once

#include "analysis/masks/pruning_mask.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A form in which a pruned model can leave.
struct ExportTarget {
    std::string_view id;
    std::string_view name;    ///< "compact GGUF"
    std::string_view opensIn; ///< whose programs open it
    bool isWritten;           ///< whether this version writes it
    /// Why a model under a mask cannot take this form: sentences, none = it can.
    /// @param format id of the source's
    std::vector<std::string> (*reasons)(const PruningMask& mask, const ModelSpec& spec, std::string_view format);
};

/// In the order in which they are offered: what opens in the most places first.
std::span<const ExportTarget> exportTargets();

/// @throws UsageError listing what is known
const ExportTarget& exportTarget(std::string_view id);

/// Refuses what a target cannot hold. @throws Error with the first reason, and the targets that can in the hint
void checkExport(const ExportTarget& target, const PruningMask& mask, const ModelSpec& spec, std::string_view format);

} // namespace secateur
