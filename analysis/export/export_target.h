#pragma once

#include "analysis/base/head_id.h"
#include "analysis/base/progress.h"
#include "analysis/export/export_card.h"
#include "analysis/masks/mask_record.h"
#include "analysis/model/model.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// What to export, and where to.
struct ExportRequest {
    MaskRecord record;
    std::string path;                       ///< of a file for a GGUF in one piece, else of a folder
    bool mayReplace = false;                ///< whether files of an earlier export may be replaced
    std::vector<std::string> measured = {}; ///< sentences for the card: quality of the masked model
};

struct ExportedFile {
    std::string path;
    std::int64_t bytes = 0;
};

struct ExportResult {
    std::string target; ///< ExportTarget::id
    std::string layout; ///< ExportLayout::id
    std::string path;
    std::vector<ExportedFile> files;
    LogitDifference verified;         ///< between the source under the mask and the reopened export
    std::vector<std::string> leftOut; ///< names of files in the source's folder that were not copied
    std::vector<std::string> warnings;
    double writeSeconds = 0;
    double verifySeconds = 0;
};

/// What a written checkpoint is when it is opened again.
struct ExportLayout {
    std::string_view id; ///< "native": names and shapes of the source's own architecture
    ModelSpec spec;
};

struct ExportTarget;

/// How a target is written. Both are needed: no checkpoint is written that is not reopened and compared.
struct ExportWriter {
    /// Writes the checkpoint, whole or not at all. @throws Error; Cancelled
    ExportResult (&write)(const ExportTarget& target, const Model& source, const ExportRequest& request,
                          const Progress& progress);
    ExportLayout (&layoutOf)(const ModelSpec& source, const PruningMask& mask);
};

/// Sentences on why a model under a mask cannot be exported in some form; none = it can. @param format id of the
/// source's format
using ExportReasons = std::vector<std::string>(const PruningMask& mask, const ModelSpec& spec, std::string_view format);

/// One row of the table of export targets (backends/export/export_targets.h).
struct ExportTarget {
    std::string_view id;
    std::string_view name;    ///< "compact GGUF"
    std::string_view summary; ///< what it writes
    std::string_view opensIn; ///< programs that open it
    ExportReasons& reasons;
    std::optional<ExportWriter> writer = {}; ///< absent = not available yet
};

ExportReasons maskedReasons;      ///< cut weights are 0, all shapes stay
ExportReasons compactGgufReasons; ///< GGUF with counts per layer
ExportReasons nativeReasons;      ///< smaller tensors in the model's own architecture
ExportReasons deciLmReasons;      ///< DeciLM, whose layers may lack sublayers and differ in KV heads and width
ExportReasons remoteCodeReasons;  ///< Hugging Face with Python code of its own
ExportReasons paddedReasons;      ///< layers padded with zeros to the widest one

/// @param table targets to suggest in the error's hint, where they can hold the mask
/// @throws Error with the first reason why the target cannot hold the mask, or when it is not available yet
void checkExport(const ExportTarget& target, std::span<const ExportTarget> table, const PruningMask& mask,
                 const ModelSpec& spec, std::string_view format);

/// The first available target that can hold the mask; nullptr when there is none.
const ExportTarget* firstExportTarget(std::span<const ExportTarget> table, const PruningMask& mask,
                                      const ModelSpec& spec, std::string_view format);

/// How a mask may be made legal: by cutting more heads, by keeping some after all, or both.
enum class LegaliseBy { either, cutting, keeping };

/// A mask for runtimes that have one number of query heads per KV group, and how it differs from the mask asked for. Of
/// layers that share their weights the first stands for all.
struct LegalMask {
    PruningMask mask;
    std::vector<HeadId> cut;  ///< besides those of the mask asked for
    std::vector<HeadId> kept; ///< though the mask asked for cuts them
};

/// Whether all KV groups of a layer that keep any of their query heads keep the same number. Layers that have no heads,
/// drop their attention or bypass queries and keys satisfy this.
bool keepsEqualGroups(const LayerMask& mask, const LayerSpec& spec);

/// The mask with equal groups in all layers that differs from the given one in the fewest heads; of several, one that
/// keeps the most heads. Within a group the first of the cut heads are kept, or the last of the kept heads cut.
LegalMask legalised(const PruningMask& mask, const ModelSpec& spec, LegaliseBy by = LegaliseBy::either);

} // namespace secateur
