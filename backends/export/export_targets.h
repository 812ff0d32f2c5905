#pragma once

#include "analysis/export/export_target.h"

#include <span>
#include <string_view>

namespace secateur {

/// Largest allowed difference between the logits of an export and those of the masked model, relative to the largest
/// logit. Both run in float32 and differ only by the order of their sums: by 1e-6 in small models, and by 1e-5 in
/// SmolLM2, where a few large activations amplify it. A single head or neuron makes a far larger difference.
inline constexpr double exportTolerance = 1e-4;

/// All targets, in the order in which they are offered: those that open in the most programs first.
std::span<const ExportTarget> exportTargets();

/// @throws UsageError listing what is known
const ExportTarget& exportTarget(std::string_view id, std::span<const ExportTarget> table = exportTargets());

/// Writes a model under a mask as a checkpoint of the target's form, with the mask and a model card beside it. Whole or
/// not at all: it is written under another name, reopened, compared with the masked model, and renamed.
/// @param source opened from files that still exist
/// @throws Error as checkExport(); naming a target that exists, a full disk, or logits that differ; Cancelled
ExportResult exportModel(const Model& source, const ExportTarget& target, const ExportRequest& request,
                         const Progress& progress = {}, std::span<const ExportTarget> table = exportTargets());

} // namespace secateur
