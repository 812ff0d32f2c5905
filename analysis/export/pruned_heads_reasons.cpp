#include "analysis/export/pruned_heads_reasons.h"

#include "analysis/export/layer_reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace secateur {

Reasons prunedHeadsReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    static constexpr std::array readers{"bert", "roberta", "xlm-roberta", "albert"};
    if (std::ranges::find(readers, spec.architecture) == readers.end())
        return {fmt::format("transformers 4 prunes heads of BERT, RoBERTa, XLM-RoBERTa and ALBERT; {} is another "
                            "architecture",
                            spec.architecture)};
    const MaskedModel model(mask, spec);
    Reasons reasons;
    if (format == "gguf")
        reasons.emplace_back("the source is a GGUF, which has no Hugging Face configuration and tokenizer");
    model.refuse(
        reasons,
        [](const CutLayer& layer) {
            return !dropsAttention(layer.mask) && layer.mask.attention == AttentionCut::bypassQk;
        },
        "queries and keys are bypassed, which the model's own architecture does not support");
    model.refuse(
        reasons, [](const CutLayer& layer) { return !layer.mask.block; },
        "the block is dropped, but the configuration lists heads only");
    model.refuse(
        reasons,
        [](const CutLayer& layer) {
            return layer.mask.block && layer.spec.heads > 0 &&
                   (dropsAttention(layer.mask) || layer.mask.keptHeads() == 0);
        },
        "no head would remain, and transformers 4 opens such a layer but cannot run it");
    model.refuse(
        reasons,
        [](const CutLayer& layer) { return layer.mask.block && layer.spec.ffn > 0 && layer.mask.keptNeurons() == 0; },
        "no neuron would remain, but the architecture requires an MLP");
    model.refuseVarying(
        reasons, [](const CutLayer& layer) { return layer.mask.keptNeurons(); }, varyingWidths);
    return reasons;
}

} // namespace secateur
