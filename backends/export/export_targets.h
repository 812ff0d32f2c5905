#pragma once

#include "analysis/export/export_target.h"

#include <span>
#include <string_view>

namespace secateur {

/// Largest allowed difference between the logits of an export and those of the masked model, relative to the largest
/// logit. Both run in float32, and differ only in the order of their sums. This makes differences of 1e-6 in small
/// models, and of 1e-5 in SmolLM2, where a few large activations amplify them. A wrong head or neuron makes far larger
/// ones.
inline constexpr double exportTolerance = 1e-4;

/// All targets, in the order in which they are offered: those that open in the most programs first.
std::span<const ExportTarget> exportTargets();

/// The target with this id. @throws UsageError listing the known ones
const ExportTarget& exportTarget(std::string_view id, std::span<const ExportTarget> table = exportTargets());

/// Writes a model under a mask as a checkpoint of the target's form, with the mask and a model card beside it. Writes
/// all files or none: they are written under another name, reopened, compared with the masked model, and renamed.
/// @param source opened from files that still exist
/// @throws Error as checkExport(); naming a target that exists, a full disk, or logits that differ; Cancelled
ExportResult exportModel(const Model& source, const ExportTarget& target, const ExportRequest& request,
                         const Progress& progress = {}, std::span<const ExportTarget> table = exportTargets());

/// Writes a model with cut weights set to 0 (ExportWriter::write): format, names, shapes, types, split and small files
/// of the source; no other weight changes. Tensors with WeightCut::isWidened become float32.
/// Also writes the mask (model.mask.json in a folder, NAME.mask.json beside a file; an existing file with the same mask
/// stays) and a card (README.md or NAME.md).
ExportResult writeMasked(const ExportTarget& target, const Model& source, const ExportRequest& request,
                         const Progress& progress);

/// The layout of a masked export: the source's, because zeros change no shape.
ExportLayout maskedLayout(const ModelSpec& source, const PruningMask& mask);

} // namespace secateur
