#include "backends/export/export_targets.h"

#include "analysis/base/error.h"
#include "analysis/base/known_ids.h"
#include "analysis/base/usage_error.h"
#include "analysis/export/onnx_reasons.h"
#include "analysis/export/pruned_heads_reasons.h"
#include "analysis/strategies/search.h"
#include "backends/engine/adapted_model.h"
#include "backends/export/compact_source.h"
#include "backends/export/export_writers.h"
#include "backends/export/onnx_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace secateur {

namespace {

constexpr std::array targets{
    ExportTarget{.id = "masked",
                 .as = "masked",
                 .layout = "native",
                 .name = "masked",
                 .summary = "the source's files with cut weights set to 0",
                 .opensIn = "all programs that open the source",
                 .format = "",
                 .loaders = {Loader::ofSource},
                 .reasons = maskedReasons,
                 .writer = ExportWriter{prepareMasked, maskedLayout}},
    ExportTarget{.id = "gguf_native",
                 .as = "gguf",
                 .layout = "native",
                 .name = "GGUF",
                 .summary = "a smaller GGUF of the same architecture, whose layers have equal shapes",
                 .opensIn = "llama.cpp",
                 .format = "gguf",
                 .loaders = {Loader::llamaCpp},
                 .reasons = ggufNativeReasons,
                 .writer = ExportWriter{prepareGguf, ggufNativeLayout, ggufTypeNames}},
    ExportTarget{.id = "gguf_deci",
                 .as = "gguf",
                 .layout = "deci",
                 .name = "GGUF, unequal layers",
                 .summary = "a smaller GGUF, whose layers may differ in heads and MLP width",
                 .opensIn = "llama.cpp",
                 .format = "gguf",
                 .loaders = {Loader::llamaCpp},
                 .reasons = ggufDeciReasons,
                 .writer = ExportWriter{prepareGguf, ggufDeciLayout, ggufTypeNames}},
    ExportTarget{.id = "gguf_openelm",
                 .as = "gguf",
                 .layout = "openelm",
                 .name = "GGUF, unequal layers with norms of heads",
                 .summary =
                     "a smaller GGUF for models with norms of queries and keys, whose layers may differ in heads "
                     "and MLP width",
                 .opensIn = "llama.cpp",
                 .format = "gguf",
                 .loaders = {Loader::llamaCpp},
                 .reasons = ggufOpenElmReasons,
                 .writer = ExportWriter{prepareGguf, ggufOpenElmLayout, ggufTypeNames}},
    ExportTarget{.id = "native",
                 .as = "structural",
                 .layout = "native",
                 .name = "Hugging Face",
                 .summary =
                     "a smaller Hugging Face checkpoint of the same architecture, whose layers have equal shapes",
                 .opensIn = "transformers, vLLM",
                 .format = "safetensors",
                 .loaders = {Loader::transformers, Loader::vllm},
                 .reasons = nativeReasons,
                 .writer = ExportWriter{.prepare = prepareHuggingFace,
                                        .layoutOf = hfNativeLayout,
                                        .types = hfTypeNames,
                                        .addsClassifier = true}},
    ExportTarget{.id = "per_layer",
                 .as = "structural",
                 .layout = "per_layer",
                 .name = "Hugging Face, unequal layers",
                 .summary = "a smaller Hugging Face checkpoint with its own Python model code",
                 .opensIn = "transformers with trust_remote_code",
                 .format = "safetensors",
                 .loaders = {Loader::transformersOwnCode},
                 .reasons = perLayerReasons,
                 .writer = ExportWriter{prepareHuggingFace, hfPerLayerLayout, hfTypeNames}},
    ExportTarget{.id = "pruned_heads",
                 .as = "structural",
                 .layout = "pruned_heads",
                 .name = "Hugging Face, pruned heads",
                 .summary = "a smaller encoder, whose configuration lists the cut heads",
                 .opensIn = "transformers 4",
                 .format = "safetensors",
                 .loaders = {Loader::transformers4},
                 .reasons = prunedHeadsReasons,
                 .writer = ExportWriter{.prepare = prepareHuggingFace,
                                        .layoutOf = prunedHeadsLayout,
                                        .types = hfTypeNames,
                                        .addsClassifier = true}},
    ExportTarget{.id = "decilm",
                 .as = "structural",
                 .layout = "decilm",
                 .name = "DeciLM",
                 .summary = "a DeciLM checkpoint",
                 .opensIn = "vLLM; transformers with the code of a DeciLM model",
                 .format = "safetensors",
                 .loaders = {Loader::vllmDeciLm},
                 .reasons = deciLmReasons,
                 .writer = ExportWriter{prepareHuggingFace, hfDeciLmLayout, hfTypeNames}},
    ExportTarget{.id = "padded",
                 .as = "padded",
                 .layout = "native",
                 .name = "padded",
                 .summary = "a smaller checkpoint, whose layers are padded with zeros to the widest one",
                 .opensIn = "all programs that open the source",
                 .format = "",
                 .loaders = {Loader::ofSource},
                 .reasons = paddedReasons,
                 .writer = ExportWriter{.prepare = preparePadded,
                                        .layoutOf = ownPaddedLayout,
                                        .types = paddedTypeNames,
                                        .addsClassifier = true}},
    ExportTarget{
        .id = "onnx",
        .as = "onnx",
        .layout = "native",
        .name = "ONNX",
        .summary = "a smaller encoder as a folder with model.onnx; not read back by Secateur",
        .opensIn = "ONNX Runtime and other programs that read ONNX of opset 17",
        .format = "onnx",
        .loaders = {Loader::onnxRuntime},
        .reasons = onnxReasons,
        .writer =
            ExportWriter{.prepare = prepareOnnx, .layoutOf = onnxLayout, .isReadBack = false, .addsClassifier = true}},
};

} // namespace

std::span<const ExportTarget> exportTargets() {
    return targets;
}

const ExportTarget& exportTarget(std::string_view id, std::span<const ExportTarget> table) {
    const auto found = std::ranges::find(table, id, &ExportTarget::id);
    if (found != table.end())
        return *found;
    refuseUnknown("export target", id, idsOf(table));
}

namespace {

/// @throws UsageError if the target cannot write the type of a request
void checkType(const ExportTarget& target, const std::string& type, std::string_view format) {
    if (type.empty())
        return;
    if (!target.writer->types)
        throw UsageError(fmt::format("the target {} keeps the types of the source", target.name), "--type");
    const std::vector<std::string_view> known = target.writer->types(format);
    if (std::ranges::find(known, type) == known.end())
        refuseUnknown("type", type, known);
}

/// Checks that a target can write a classifier that only the adapter has. @throws Error
void checkClassifier(const Model& source, const ExportTarget& target) {
    if (!bringsClassifier(source))
        return;
    const std::string brings = fmt::format("brings a classifier of {} classes", source.spec().classes);
    if (!target.writer->addsClassifier || (source.card().format == "gguf" && target.writer->isReadBack))
        throw Error(fmt::format("{} that the files of a {} export have no place for", brings, target.name),
                    source.card().adapter, "Export it as structural, padded or onnx, or use --adapter");
    const std::string& architecture = source.spec().architecture;
    const bool isKnown = architecture == "bert" || architecture == "albert";
    if (target.writer->isReadBack && (!isKnown || !source.has(-1, WeightName::pooler)))
        throw Error(fmt::format("{}, but the class of transformers for {} has another layer before it{}", brings,
                                architecture, isKnown ? ", the pooler, which the model does not have" : ""),
                    source.card().adapter, "Export it as onnx, or use --adapter");
}

/// Prepares an export and passes it to a function.
template <typename Use>
auto withPrepared(const Model& source, const ExportTarget& target, const ExportRequest& request,
                  std::span<const ExportTarget> table, Use use) {
    checkExport(target, table, request.record.mask, source.spec(), source.card().format);
    checkType(target, request.type, source.card().format);
    checkClassifier(source, target);
    try {
        return use(*target.writer->prepare(target, source, request));
    } catch (const std::filesystem::filesystem_error& error) {
        throw Error(error.code().message(), error.path1().empty() ? request.path : error.path1().string());
    }
}

} // namespace

ExportSize exportSize(const Model& source, const ExportTarget& target, const ExportRequest& request,
                      std::span<const ExportTarget> table) {
    return withPrepared(source, target, request, table, [&](const PreparedExport& prepared) {
        ExportSize size = prepared.size();
        size.sourceBytes = weightFileBytes(source.card());
        return size;
    });
}

namespace {

/// The layout that a budget in bytes counts.
const ExportTarget& layoutFor(const Model& model, const StrategyRequest& strategy) {
    const std::string layout = layoutOfBytes(strategy, model.card().format);
    const bool isOfGguf =
        layout == "deci" || layout == "openelm" || (layout == "native" && model.card().format == "gguf");
    return chosenTarget(targets, isOfGguf ? "gguf" : "structural", layout, PruningMask(model.spec()), model.spec(),
                        model.card().format);
}

} // namespace

std::function<double(const PruningMask&)> fileBytesOf(const Model& model, const StrategyRequest& strategy) {
    return [&model, strategy](const PruningMask& mask) {
        ExportRequest request;
        request.record.mask = mask;
        return static_cast<double>(exportSize(model, layoutFor(model, strategy), request).fileBytes);
    };
}

ExportResult exportModel(const Model& source, const ExportTarget& target, const ExportRequest& request,
                         const Progress& progress, std::span<const ExportTarget> table) {
    return withPrepared(source, target, request, table,
                        [&](const PreparedExport& prepared) { return prepared.write(progress); });
}

} // namespace secateur
