#pragma once

#include "analysis/export/compare_logits.h"
#include "analysis/masks/mask_record.h"
#include "analysis/model/model.h"
#include "analysis/base/progress.h"

#include <cstdint>
#include <string>
#include <vector>

namespace secateur {

/// What to export, and where to.
struct ExportRequest {
    MaskRecord record;
    std::string path;                       ///< of a file for a GGUF in one piece, else of a folder
    bool mayReplace = false;                ///< what an earlier export left under these names
    std::vector<std::string> measured = {}; ///< sentences for the card: how well the masked model does
};

struct ExportedFile {
    std::string path;
    std::int64_t bytes = 0;
};

struct ExportResult {
    std::string target; ///< id in exportTargets()
    std::string layout;
    std::string path;
    std::vector<ExportedFile> files;
    LogitDifference verified;         ///< between the source under the mask and the export, reopened
    std::vector<std::string> leftOut; ///< of the source's folder, by name
    std::vector<std::string> warnings;
    double writeSeconds = 0;
    double verifySeconds = 0;
};

/// Most that the logits of an export may differ from the masked model's, over the largest of them. Both run in float32
/// and differ by the order of their sums alone: by 1e-6 in small models, and by 1e-5 in SmolLM2, where a few large
/// activations magnify it. What a single head or neuron does is far more.
inline constexpr double exportTolerance = 1e-4;

/// Writes a model with what a mask cuts set to 0: the source's format, names, shapes, types, split and small files; no
/// other byte of its weights changes. Beside it the mask (model.mask.json, or NAME.mask.json, which is left as it is
/// where it holds this very mask already) and a card (README.md or NAME.md). Whole or not at all: it is written under
/// another name, reopened, compared with the masked model, and renamed.
/// @param source that was opened from files which are there still
/// @throws Error naming what the mask or the format does not allow, a target that exists, a full disk, or logits that
/// differ; Cancelled
ExportResult exportMasked(const Model& source, const ExportRequest& request, const Progress& progress = {});

} // namespace secateur
