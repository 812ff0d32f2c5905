#pragma once

#include "analysis/base/head_id.h"
#include "analysis/base/progress.h"
#include "analysis/export/compact_layout.h"
#include "analysis/export/export_card.h"
#include "analysis/export/loading_snippets.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/protection.h"
#include "analysis/model/model.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

struct Adapter;

/// The mask of an export, and the place where the export is written.
struct ExportRequest {
    MaskRecord record;
    std::string path;                       ///< a file for a GGUF in one piece; otherwise a folder
    bool mayReplace = false;                ///< whether files of an earlier export may be replaced
    std::vector<std::string> measured = {}; ///< sentences about the quality of the masked model, for the card
    std::string type = {};                  ///< type of the written matrices ("F16", "Q8_0"); empty = the stored type
    /// Evaluates the reopened export before it takes its name, and returns sentences for the card. Empty = it is only
    /// verified. Not called for formats that are not read back.
    std::function<std::vector<std::string>(const Model& exported, const Progress& progress)> evaluate = {};
    /// An adapter of the source that is not merged into the weights: ExportResult::adapter gets its form for the
    /// export, with which the export is verified and evaluated. null = none
    std::shared_ptr<const Adapter> adapter = {};
};

struct ExportedFile {
    std::string path;
    std::int64_t bytes = 0;
};

struct ExportResult {
    std::string target; ///< ExportTarget::as
    std::string layout; ///< id of the layout
    std::string path;
    std::string openedPath; ///< that opens the export: `path`, or a file in that folder
    std::vector<ExportedFile> files;
    std::string maskPath; ///< of the mask beside the checkpoint
    std::string maskDigest;
    std::vector<std::string> measured; ///< results of ExportRequest::evaluate
    LogitDifference verified;          ///< difference between the source under the mask and the reopened export
    double tolerance = 0;              ///< largest difference that was allowed, relative to the largest logit
    std::vector<std::string> leftOut;  ///< names of files in the source's folder that were not copied
    std::vector<std::string> warnings;
    std::shared_ptr<const Adapter> adapter; ///< in the shapes of the export; null = ExportRequest::adapter is null
    std::string adapterPath;                ///< folder in which `adapter` was written; empty = not written
    double writeSeconds = 0;
    double verifySeconds = 0;
};

/// The size of an export before it is written.
struct ExportSize {
    std::int64_t fileBytes = 0;   ///< size of the weight files; of a GGUF in one piece, the whole file
    std::int64_t sourceBytes = 0; ///< size of the source's weight files
    std::int64_t parameters = 0;  ///< number of weights
    double kvBytesPerToken = 0;   ///< as Price::kvBytesPerToken
    bool isOneFile = false;       ///< whether the export is a GGUF in one piece, not a folder
    std::vector<std::string> warnings;
};

/// An export whose content is decided and not yet written. The source must outlive it.
class PreparedExport {
public:
    virtual ~PreparedExport() = default;

    /// Everything but ExportSize::sourceBytes.
    virtual ExportSize size() const = 0;
    /// Writes all files or none. @throws Error; Cancelled
    virtual ExportResult write(const Progress& progress) const = 0;
};

struct ExportTarget;

/// The functions of a target. The first two are required, because every checkpoint that Secateur reads is reopened and
/// compared with the source.
struct ExportWriter {
    /// Decides the content of all files. Reads the headers of the source's files. @throws Error
    std::unique_ptr<const PreparedExport> (&prepare)(const ExportTarget& target, const Model& source,
                                                     const ExportRequest& request);
    /// The layout of the checkpoint. @param format id of the source's format
    ExportLayout (&layoutOf)(const ModelSpec& source, const PruningMask& mask, std::string_view format);
    /// The values that ExportRequest::type may have. @param format id of the source's format
    /// null = stored types are kept
    std::vector<std::string_view> (*types)(std::string_view format) = nullptr;
    bool isReadBack = true;      ///< false = Secateur does not read the format, and the export is not verified
    bool addsClassifier = false; ///< whether it can write a classifier that only an adapter has, or one of other shape
};

/// A reason why a model under a mask cannot be exported to a target.
struct ExportReason {
    ExportReason(std::string text, std::vector<int> concerned = {})
        : sentence(std::move(text))
        , layers(std::move(concerned)) {}

    std::string sentence;
    std::vector<int> layers;   ///< layers concerned, in order; empty = the model as a whole
    std::vector<HeadId> heads; ///< the heads of these layers that are concerned; empty = the whole layers
};
using Reasons = std::vector<ExportReason>;

/// The heads that a reason concerns: ExportReason::heads, or all heads of its layers.
std::vector<HeadId> headsOf(const ExportReason& reason, const ModelSpec& spec);

/// Returns the reasons why a model under a mask cannot be exported to a target. Empty = it can be exported.
/// @param format id of the source's format
using ExportReasons = Reasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format);

/// A row of the table of export targets (backends/export/export_targets.h).
struct ExportTarget {
    std::string_view id;
    std::string_view as;             ///< value of `export --as`, which several rows may share
    std::string_view layout;         ///< value of `export --layout`, and ExportLayout::id
    std::string_view name;           ///< "GGUF, unequal layers"
    std::string_view summary;        ///< description of the written files
    std::string_view opensIn;        ///< programs that open the written files
    std::string_view format;         ///< id of the written files' format; empty = the source's
    std::array<Loader, 2> loaders{}; ///< programs for which the card has code; unused ones are Loader::none
    ExportReasons& reasons;
    std::optional<ExportWriter> writer = {}; ///< absent = not available yet
};

ExportReasons maskedReasons;      ///< for the source's own format: cut weights are 0, shapes are unchanged
ExportReasons ggufNativeReasons;  ///< for GGUF with the same numbers of heads and neurons in all layers
ExportReasons ggufDeciReasons;    ///< for GGUF with numbers of heads and neurons per layer
ExportReasons ggufOpenElmReasons; ///< for GGUF with numbers per layer, and norms of queries and keys
ExportReasons nativeReasons;      ///< for smaller tensors in the model's own architecture
ExportReasons deciLmReasons;      ///< for DeciLM, whose layers may lack sublayers and differ in KV heads and width
ExportReasons perLayerReasons;    ///< for Hugging Face with its own Python code
ExportReasons paddedReasons;      ///< for layers that are padded with zeros to the widest layer

/// Checks that a target can hold a mask. @param table all targets; the hint of the error suggests one that can
/// @throws Error with the first reason why the target cannot hold the mask, or if the target is not available yet
void checkExport(const ExportTarget& target, std::span<const ExportTarget> table, const PruningMask& mask,
                 const ModelSpec& spec, std::string_view format);

/// The first available target that can hold the mask; null if there is none.
const ExportTarget* firstExportTarget(std::span<const ExportTarget> table, const PruningMask& mask,
                                      const ModelSpec& spec, std::string_view format);

/// Checks the values of `export --as` and `--layout`. @throws UsageError that lists the known values
void checkTargetNames(std::span<const ExportTarget> table, std::string_view as, std::string_view layout);

/// The row for a value of `export --as` and one of `--layout`. @param layout "auto" = the first that can hold the mask,
/// or the first of all if none can @throws UsageError as checkTargetNames()
const ExportTarget& chosenTarget(std::span<const ExportTarget> table, std::string_view as, std::string_view layout,
                                 const PruningMask& mask, const ModelSpec& spec, std::string_view format);

/// How legalised() may change a mask: by cutting more heads, by keeping heads that are cut, or by both.
enum class LegaliseBy { either, cutting, keeping };

/// A mask in which all KV groups of a layer have equally many query heads, and its differences from the original mask.
/// Of layers that share their weights, only the first is listed.
struct LegalMask {
    PruningMask mask;
    std::vector<HeadId> cut;  ///< heads that are cut by this mask only
    std::vector<HeadId> kept; ///< heads that are cut by the original mask only
    /// Layers in which LegaliseBy::cutting restores heads, because cutting alone would cut protected heads.
    std::vector<int> restoredLayers;
};

/// Whether all KV groups of a layer that keep any query heads keep the same number. This is true for layers that have
/// no heads, drop their attention or bypass queries and keys.
bool keepsEqualGroups(const LayerMask& mask, const LayerSpec& spec);

/// The mask that satisfies keepsEqualGroups() in all layers, cuts no protected unit, and differs from the original in
/// the fewest heads. Of several such masks, one that keeps the most heads. In a group, the first cut heads are
/// restored, or the last kept heads that are not protected are cut. There is always such a mask: where
/// LegaliseBy::cutting would have to cut protected heads, heads are restored (LegalMask::restoredLayers). Protected
/// units that the original mask cuts are restored first.
LegalMask legalised(const PruningMask& mask, const ModelSpec& spec, LegaliseBy by = LegaliseBy::either,
                    const Protection& isProtected = {});

} // namespace secateur
