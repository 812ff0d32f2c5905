#include "analysis/export/pruned_heads_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

namespace secateur {

namespace {

using LayerCondition = bool (*)(const LayerMask& mask, const LayerSpec& layer);

/// If the condition holds for any layer, adds a reason that names the first.
void refuseLayers(std::vector<std::string>& reasons, const PruningMask& mask, const ModelSpec& spec,
                  LayerCondition holds, std::string_view sentence) {
    for (int index = 0; index < spec.layerCount(); ++index)
        if (holds(mask.layer(index), spec.layers[static_cast<std::size_t>(index)])) {
            reasons.push_back(fmt::format("layer {}: {}", index, sentence));
            return;
        }
}

} // namespace

std::vector<std::string> prunedHeadsReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    static constexpr std::array readers{"bert", "roberta", "xlm-roberta", "albert"};
    if (std::ranges::find(readers, spec.architecture) == readers.end())
        return {fmt::format("transformers 4 prunes heads of BERT, RoBERTa, XLM-RoBERTa and ALBERT; {} is another "
                            "architecture",
                            spec.architecture)};
    std::vector<std::string> reasons;
    if (format == "gguf")
        reasons.emplace_back("the source is a GGUF, which has no Hugging Face configuration and tokenizer");
    refuseLayers(
        reasons, mask, spec,
        [](const LayerMask& layer, const LayerSpec&) {
            return !dropsAttention(layer) && layer.attention == AttentionCut::bypassQk;
        },
        "queries and keys are bypassed, which the model's own architecture does not support");
    refuseLayers(
        reasons, mask, spec, [](const LayerMask& layer, const LayerSpec&) { return !layer.block; },
        "the block is dropped, but the configuration lists heads only");
    refuseLayers(
        reasons, mask, spec,
        [](const LayerMask& layer, const LayerSpec& shape) {
            return layer.block && shape.heads > 0 && (dropsAttention(layer) || layer.keptHeads() == 0);
        },
        "no head would remain, and transformers 4 opens such a layer but cannot run it");
    refuseLayers(
        reasons, mask, spec,
        [](const LayerMask& layer, const LayerSpec& shape) {
            return layer.block && shape.ffn > 0 && layer.keptNeurons() == 0;
        },
        "no neuron would remain, but the architecture requires an MLP");
    std::set<int> widths;
    for (int index = 0; index < spec.layerCount(); ++index)
        widths.insert(mask.layer(index).keptNeurons());
    if (widths.size() > 1)
        reasons.emplace_back("MLP widths vary between layers, but the configuration has one value for all");
    return reasons;
}

} // namespace secateur
