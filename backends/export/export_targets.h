#pragma once

#include "analysis/export/export_target.h"

#include <span>
#include <string_view>

namespace secateur {

/// Largest allowed difference between the logits of an export and those of the masked model, relative to the largest
/// logit. Both run in float32 and differ only in the order of sums. Such differences are about 1e-6 in small models. In
/// SmolLM2 they are about 1e-5, because a few large activations amplify them. A wrong head or neuron causes far larger
/// differences.
inline constexpr double exportTolerance = 1e-4;

/// All targets in the order in which they are offered. Targets that most programs can open come first.
std::span<const ExportTarget> exportTargets();

/// The target with this id. @throws UsageError that lists the known ids
const ExportTarget& exportTarget(std::string_view id, std::span<const ExportTarget> table = exportTargets());

/// Exports a model under a mask as the target says, with the mask and a model card next to the checkpoint. Writes all
/// files or none: they are written under temporary names, reopened, compared with the masked model and renamed.
/// @param source must be opened from files that still exist
/// @throws Error as checkExport() does; also if the target exists, the disk is full or logits differ; Cancelled
ExportResult exportModel(const Model& source, const ExportTarget& target, const ExportRequest& request,
                         const Progress& progress = {}, std::span<const ExportTarget> table = exportTargets());

/// Writes a model with cut weights set to 0 (ExportWriter::write). Format, tensor names, shapes, types, the split into
/// files and small files are those of the source. No other weight changes, except by a compensation: its factors are in
/// the columns of the output and down projections, and its biases are added to those of the model. A model without such
/// biases gets them, if programs that open it read them (biasRoom()). Tensors with WeightCut::isWidened become float32.
/// Also writes the mask (model.mask.json in a folder, NAME.mask.json next to a file) and a card (README.md or NAME.md).
/// An existing mask file with the same mask is kept.
ExportResult writeMasked(const ExportTarget& target, const Model& source, const ExportRequest& request,
                         const Progress& progress);

/// The layout of a masked export. It is the layout of the source, because zeros change no shape, with the biases that
/// the compensation of the mask adds.
ExportLayout maskedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format);

} // namespace secateur
