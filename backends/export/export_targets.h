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

/// Writes a model with cut weights set to 0 (ExportWriter::write): format, names, shapes, types, split and small files
/// of the source; no other byte of its weights changes. Beside it the mask (model.mask.json in a folder, NAME.mask.json
/// beside a file; a file that holds this very mask stays) and a card (README.md or NAME.md).
ExportResult writeMasked(const ExportTarget& target, const Model& source, const ExportRequest& request,
                         const Progress& progress);

/// That of the source: zeros change no shape.
ExportLayout maskedLayout(const ModelSpec& source, const PruningMask& mask);

} // namespace secateur
