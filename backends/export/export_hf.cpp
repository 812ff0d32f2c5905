#include "backends/export/export_writers.h"

#include "analysis/export/bias_room.h"
#include "backends/config/architectures.h"
#include "backends/export/compact_config.h"
#include "backends/export/compact_source.h"
#include "backends/export/compact_tensors.h"
#include "backends/export/companion_files.h"
#include "backends/export/export_files.h"
#include "backends/export/layered_config.h"
#include "backends/export/safetensors_files.h"

#include <filesystem>
#include <map>

namespace secateur {

namespace {

namespace fs = std::filesystem;

std::string folderOf(const ModelCard& card) {
    const fs::path path(card.path);
    return (fs::is_directory(path) ? path : fs::absolute(path).parent_path()).string();
}

} // namespace

ExportLayout hfNativeLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return nativeLayout(withCompensationBiases(source, mask, "safetensors"), mask, "safetensors");
}

ExportLayout hfDeciLmLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return deciLmLayout(source, mask);
}

ExportLayout ownPaddedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format) {
    return paddedLayout(withCompensationBiases(source, mask, format), mask);
}

ExportLayout hfPerLayerLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return raggedLayout(source, mask, "per_layer");
}

ExportLayout prunedHeadsLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return raggedLayout(source, mask, "pruned_heads");
}

namespace {

/// The small files that state a layout.
std::map<std::string, std::string> statedLayout(const std::string& config, const Model& source,
                                                const ExportLayout& layout, const PruningMask& mask,
                                                const std::string& type) {
    if (layout.id == "per_layer")
        return {{"config.json", perLayerConfig(config, source.spec(), layout, type)},
                {modelCodeName, std::string(modelCode())}};
    if (layout.id == "decilm")
        return {{"config.json", deciLmConfig(config, source.spec(), layout, type)}};
    if (layout.id == "pruned_heads")
        return {{"config.json", prunedHeadsConfig(config, source.spec(), layout, mask, type)}};
    return {{"config.json", compactConfig(config, source.spec(), layout, type)}};
}

} // namespace

ExportResult writeHuggingFace(const ExportTarget& target, const Model& source, const ExportRequest& request,
                              const Progress& progress) {
    const ModelCard& card = source.card();
    const CompactSource files(card);
    const ExportLayout layout = target.writer->layoutOf(source.spec(), request.record.mask, card.format);
    WrittenTypes types(safetensorsTypes(), request.type);
    const TensorConventions conventions{
        .pattern = [&](WeightName weight) { return files.ownPattern(weight); },
        .prefix = layout.id == "per_layer" ? "model." : files.prefix(),
        .type = [&](const auto&... facts) -> const StorageType& { return types.choose(facts...); }};
    SafetensorsFiles weights(
        compactTensors(files.description(), files.slots(), request.record.mask, layout, conventions));
    const ExportPlan plan{.weights = weights,
                          .copiesCompanions = true,
                          .written = statedLayout(companionContent(folderOf(card), "config.json"), source, layout,
                                                  request.record.mask, types.wanted()),
                          .warnings = types.warnings(),
                          .contents = smallerContents,
                          .tolerance = types.isLossy() ? roundedTolerance : exportTolerance};
    return runExport(target, source, layout, request, plan, progress);
}

ExportResult writePadded(const ExportTarget& target, const Model& source, const ExportRequest& request,
                         const Progress& progress) {
    const bool isGguf = source.card().format == "gguf";
    return (isGguf ? writeGguf : writeHuggingFace)(target, source, request, progress);
}

} // namespace secateur
