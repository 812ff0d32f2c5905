#include "backends/training/peft_names.h"

#include "analysis/base/error.h"
#include "backends/formats/tensor_slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace secateur {

namespace {

const ArchitectureInfo& architectureOf(const Model& model) {
    const auto rows = allArchitectures();
    const auto found = std::ranges::find(rows, model.spec().architecture, &ArchitectureInfo::id);
    if (found == rows.end() || found->hfTensors.front().empty())
        throw Error(fmt::format("has the architecture {}, which has no class in transformers: PEFT has no names for it",
                                model.spec().architecture),
                    model.card().path);
    return *found;
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

/// The prefix of module names in the class with which transformers opens a model.
std::string_view prefixOf(const Model& model, const ArchitectureInfo& info) {
    const bool isBareEncoder = info.family == Family::encoder && !model.has(-1, WeightName::classifier);
    if (isBareEncoder)
        return {};
    if (info.id == "gemma3" && !contains(model.place(-1, WeightName::embedding), "language_model."))
        return "model.";
    return info.prefixes.front();
}

/// Whether a model has this one of several tensors that an architecture has for a weight.
bool isUsed(const Model& model, int layer, std::string_view pattern) {
    const auto isLinear = [&] {
        return model.spec().layers[static_cast<std::size_t>(layer)].attention == AttentionKind::linear;
    };
    if (contains(pattern, ".linear_attn."))
        return isLinear();
    if (contains(pattern, ".o_proj."))
        return !isLinear() || model.spec().architecture != "deci";
    if (pattern.starts_with("classifier."))
        return contains(pattern, "classifier.out_proj.") == model.has(-1, WeightName::classifierDense) ||
               contains(pattern, "classifier.dense.");
    return !pattern.starts_with("language_model."); // a name of earlier versions
}

const TensorPattern* patternOf(const Model& model, const ArchitectureInfo& info, const WeightPlace& place) {
    for (const auto& patterns : info.hfTensors)
        for (const TensorPattern& pattern : patterns)
            if (pattern.weight == place.second && isUsed(model, place.first, pattern.pattern))
                return &pattern;
    return nullptr;
}

} // namespace

bool canBeReplaced(WeightName name) {
    using enum WeightName;
    constexpr std::array others{
        embeddingNormBias, finalNormBias, attentionNormBias, attentionPostNormBias, mlpNormBias,
        mlpPostNormBias,   pooler,        poolerBias,        classifierDense,       classifierDenseBias,
        classifier,        classifierBias};
    return isNorm(name) || std::ranges::find(others, name) != others.end();
}

std::vector<PeftWeight> peftWeights(const Model& model, std::optional<std::string_view> prefix) {
    const ArchitectureInfo& info = architectureOf(model);
    const ModelSpec& spec = model.spec();
    std::vector<PeftWeight> weights;
    for (int layer = -1; layer < spec.layerCount(); ++layer) {
        if (layer >= 0 && spec.firstSharing(layer) != layer)
            continue;
        for (std::size_t index = 0; index < weightNameCount; ++index) {
            const WeightPlace place{layer, static_cast<WeightName>(index)};
            const TensorPattern* pattern = model.has(layer, place.second) ? patternOf(model, info, place) : nullptr;
            if (!pattern)
                continue;
            const int stored = layer < 0 ? layer : spec.storedLayer(layer);
            const std::string name =
                filledIn(pattern->pattern, prefix.value_or(prefixOf(model, info)), stored, spec.layersPerGroup);
            const std::size_t dot = name.rfind('.');
            weights.push_back({place, name.substr(0, dot), name.substr(dot + 1), pattern->part, pattern->transposed});
        }
    }
    return weights;
}

std::span<const std::string_view> peftPrefixes(const Model& model) {
    return architectureOf(model).prefixes;
}

} // namespace secateur
