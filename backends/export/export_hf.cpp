#include "backends/export/export_writers.h"

#include "analysis/base/error.h"
#include "analysis/export/bias_room.h"
#include "backends/config/architectures.h"
#include "backends/export/compact_config.h"
#include "backends/export/compact_source.h"
#include "backends/export/compact_tensors.h"
#include "backends/export/companion_files.h"
#include "backends/export/export_files.h"
#include "backends/export/hf_description.h"
#include "backends/export/hf_tokenizer_files.h"
#include "backends/export/layered_config.h"
#include "backends/export/safetensors_files.h"
#include "backends/formats/hf_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace secateur {

ExportLayout hfNativeLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return nativeLayout(withCompensationBiases(source, mask, "safetensors"), mask, "safetensors");
}

ExportLayout hfDeciLmLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return deciLmLayout(source, mask);
}

ExportLayout ownPaddedLayout(const ModelSpec& source, const PruningMask& mask, std::string_view format) {
    return paddedLayout(withCompensationBiases(source, mask, format), mask, format);
}

ExportLayout hfPerLayerLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return raggedLayout(source, mask, "per_layer");
}

ExportLayout prunedHeadsLayout(const ModelSpec& source, const PruningMask& mask, std::string_view) {
    return raggedLayout(source, mask, "pruned_heads");
}

namespace {

/// The small files that state a layout. @param config that of the source
std::map<std::string, std::string> statedLayout(std::string config, const Model& source, const ExportLayout& layout,
                                                const PruningMask& mask, const std::string& type) {
    if (bringsClassifier(source))
        config = configWithClasses(config, {.count = source.spec().classes,
                                            .names = classNames(source.card()),
                                            .modelClass = source.spec().architecture == "albert"
                                                              ? "AlbertForSequenceClassification"
                                                              : "BertForSequenceClassification"});
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

namespace {

const ArchitectureInfo& infoOf(const ModelSpec& spec) {
    const auto rows = allArchitectures();
    return *std::ranges::find(rows, spec.architecture, &ArchitectureInfo::id);
}

/// The pattern of a weight of a checkpoint that becomes a classifier. That of the files may be of another class.
const TensorPattern* classifierPattern(const CompactSource& files, const ArchitectureInfo& info, WeightName weight) {
    if (weight != WeightName::classifier && weight != WeightName::classifierBias)
        return files.ownPattern(weight);
    for (const auto& patterns : info.hfTensors)
        for (const TensorPattern& pattern : patterns)
            if (pattern.weight == weight && pattern.pattern.find(".out_proj.") == std::string_view::npos)
                return &pattern;
    return nullptr;
}

/// How the tensors are named and stored: as in the source, or as transformers does for the architecture.
TensorConventions hfConventions(const CompactSource& files, const Model& source, const ExportLayout& layout) {
    const ArchitectureInfo& info = infoOf(files.description().spec);
    if (bringsClassifier(source))
        return {.pattern = [&files, &info](WeightName weight) { return classifierPattern(files, info, weight); },
                .prefix = info.prefixes.front(), // the encoder is a part of the class for classification
                .pairsRotaryRows = false,
                .addsOneToNorms = false,
                .type = {}};
    if (source.card().format != "gguf")
        return {.pattern = [&files](WeightName weight) { return files.ownPattern(weight); },
                .prefix = layout.id == "per_layer" ? "model." : files.prefix(),
                .pairsRotaryRows = false,
                .addsOneToNorms = false,
                .type = {}};
    return {.pattern =
                [&info](WeightName weight) {
                    for (const auto& patterns : info.hfTensors)
                        for (const TensorPattern& pattern : patterns)
                            if (pattern.weight == weight)
                                return &pattern;
                    return static_cast<const TensorPattern*>(nullptr);
                },
            .prefix = layout.id == "per_layer" ? "model." : info.prefixes.front(),
            .pairsRotaryRows = false,
            .addsOneToNorms = false,
            .type = {}};
}

void addTokenizer(const GgufMetadata& metadata, ExportPlan& plan) {
    try {
        const HfTokenizerFiles tokenizer = hfTokenizerFilesOf(metadata);
        for (const HfTokenizerFiles::File& file : tokenizer.files)
            plan.written[file.name] = file.content;
        plan.warnings.insert(plan.warnings.end(), tokenizer.warnings.begin(), tokenizer.warnings.end());
    } catch (const Error& error) {
        plan.warnings.push_back(fmt::format("the export has no tokenizer: {}", error.what()));
    }
}

} // namespace

std::vector<std::string_view> hfTypeNames(std::string_view) {
    return namesOf(safetensorsTypes());
}

std::vector<std::string_view> paddedTypeNames(std::string_view format) {
    return namesOf(format == "gguf" ? ggufTypes() : safetensorsTypes());
}

std::unique_ptr<const PreparedExport> prepareHuggingFace(const ExportTarget& target, const Model& source,
                                                         const ExportRequest& request) {
    const ModelCard& card = source.card();
    const auto opened = std::make_shared<const CompactSource>(source, request.record.mask);
    const CompactSource& files = *opened;
    const bool isGguf = card.format == "gguf";
    const ExportLayout layout = target.writer->layoutOf(source.spec(), request.record.mask, card.format);
    WrittenTypes types(safetensorsTypes(), request.type);
    TensorConventions conventions = hfConventions(files, source, layout);
    conventions.type = [&](const auto&... facts) -> const StorageType& { return types.choose(facts...); };
    auto weights = std::make_shared<SafetensorsFiles>(
        compactTensors(files.description(), files.slots(), files.changed(), request.record.mask, layout, conventions));
    const std::string config = isGguf ? describedForHf(source.spec(), files.ggufMetadata())
                                      : companionContent(modelFolder(card.path), "config.json");
    ExportPlan plan{.weights = std::move(weights),
                    .opened = opened,
                    .copiesCompanions = !isGguf,
                    .written = statedLayout(config, source, layout, request.record.mask, types.wanted()),
                    .warnings = types.warnings(),
                    .contents = smallerContents,
                    .types = types.sentence(),
                    .tolerance = types.isLossy() ? roundedTolerance : exportTolerance};
    if (isGguf)
        addTokenizer(files.ggufMetadata(), plan);
    return preparedExport(target, source, layout, request, std::move(plan));
}

std::unique_ptr<const PreparedExport> preparePadded(const ExportTarget& target, const Model& source,
                                                    const ExportRequest& request) {
    const bool isGguf = source.card().format == "gguf";
    return (isGguf ? prepareGguf : prepareHuggingFace)(target, source, request);
}

} // namespace secateur
