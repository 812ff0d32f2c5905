#pragma once

#include "analysis/base/progress.h"
#include "analysis/export/export_card.h"
#include "analysis/export/export_target.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// The weight files of an export. What they contain is decided before anything is written.
class ExportFiles {
public:
    virtual ~ExportFiles() = default;

    /// Names of the files, without folders.
    virtual std::vector<std::string> names() const = 0;
    virtual std::int64_t bytes() const = 0; ///< total size in bytes
    /// Writes the files. @param place returns the path to write to for a name in names()
    /// @throws Error, Cancelled; incomplete files may be left
    virtual void write(const std::function<std::string(const std::string& name)>& place,
                       const Progress& progress) const = 0;
};

/// What an export writes beside its weights.
struct ExportPlan {
    std::shared_ptr<const ExportFiles> weights;
    std::shared_ptr<const void> opened = {};         ///< what the weights are read from, and must stay open
    bool isOneGguf = false;                          ///< whether the export is a single GGUF file, not a folder
    bool copiesCompanions = false;                   ///< whether the small files beside the source's weights are copied
    std::map<std::string, std::string> written = {}; ///< small files that replace or join them, by name
    std::string verified = {}; ///< name of the file that is opened to verify a folder; empty = the folder itself
    std::vector<std::string> warnings = {};
    std::string contents = {}; ///< ExportFacts::contents
    std::string types = {};    ///< ExportFacts::types
    double tolerance = 0;      ///< exportTolerance, or roundedTolerance if weights were rounded
};

/// StepDifference::position up to which an export is right although its logits differ more. Some masks magnify
/// rounding: SmolLM2 under Mag-SP at 25 % of its parameters gives logits in float32 that differ from those in float64
/// by 4e-4 of the largest, in transformers too. The steps of its exports differ by at most 2e-5.
inline constexpr double stepTolerance = 1e-3;

/// ExportFacts::contents of exports whose tensors are smaller.
inline constexpr const char* smallerContents =
    "The weights of the cut heads, neurons and sublayers are not in the file";

/// An export of these files. write() adds the mask and a model card beside them, all files or none: they are written
/// under temporary names, reopened, compared with the masked model, and renamed. write() throws Error also if the
/// target exists, the disk is full or logits differ.
std::unique_ptr<const PreparedExport> preparedExport(const ExportTarget& target, const Model& source,
                                                     ExportLayout layout, const ExportRequest& request,
                                                     ExportPlan plan);

} // namespace secateur
