#pragma once

#include "analysis/export/export_target.h"
#include "analysis/strategies/strategy.h"

#include <functional>
#include <span>
#include <string_view>

namespace secateur {

/// All targets in the order in which they are offered. Targets that most programs can open come first.
std::span<const ExportTarget> exportTargets();

/// The target with this id. @throws UsageError that lists the known ids
const ExportTarget& exportTarget(std::string_view id, std::span<const ExportTarget> table = exportTargets());

/// The size of an export before it is written. Reads the headers of the source's files. ExportRequest::path is not
/// used.
/// @throws Error as checkExport() does; UsageError if the target cannot write the type of the request
ExportSize exportSize(const Model& source, const ExportTarget& target, const ExportRequest& request,
                      std::span<const ExportTarget> table = exportTargets());

/// The bytes of the weight files of an export under a mask, at the source's types, for budgets in bytes. The layout is
/// that of layoutOfBytes() (search.h). The function throws as exportSize(). The model must outlive it.
std::function<double(const PruningMask& mask)> fileBytesOf(const Model& model, const StrategyRequest& strategy);

/// Exports a model under a mask as the target says, with the mask and a model card next to the checkpoint. Writes all
/// files or none: they are written under temporary names, reopened, compared with the masked model and renamed.
/// @param source must be opened from files that still exist
/// @throws Error as exportSize() does; also if the target exists, the disk is full or logits differ; Cancelled
ExportResult exportModel(const Model& source, const ExportTarget& target, const ExportRequest& request,
                         const Progress& progress = {}, std::span<const ExportTarget> table = exportTargets());

} // namespace secateur
