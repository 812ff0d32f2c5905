#include "analysis/export/export_target.h"

#include "analysis/base/text.h"
#include "analysis/export/bias_room.h"
#include "analysis/export/layer_reasons.h"
#include "analysis/masks/pruning_mask.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <span>

namespace secateur {

namespace {

/// Whether the blocks are those of Llama, apart from norms of heads and biases of queries, keys and values.
bool hasLlamaBlocks(const ModelSpec& spec) {
    const auto plain = [](const LayerSpec& layer) {
        return layer.window == 0 && layer.rotary.dims == layer.headDim && !layer.outputBias && !layer.gateBias &&
               !layer.upBias && !layer.downBias;
    };
    return spec.family == Family::decoder && spec.norm == NormKind::rms && spec.normPlace == NormPlace::before &&
           spec.gatedMlp && spec.activation == Activation::silu && spec.positions == Positions::rotary &&
           spec.scoreSoftcap == 0 && spec.logitSoftcap == 0 && spec.normWeightOffset == 0 &&
           std::ranges::all_of(spec.layers, [&](const LayerSpec& layer) { return layer.heads == 0 || plain(layer); });
}

bool isLlamaLike(const ModelSpec& spec) {
    return hasLlamaBlocks(spec) && std::ranges::all_of(spec.layers, [](const LayerSpec& layer) {
               return layer.heads == 0 || !layer.normsHeads;
           });
}

constexpr std::string_view llamaLike = "norms before its sublayers, a gated SiLU MLP and rotary positions over whole "
                                       "heads, without windows, softcaps and MLP or output biases";

void refuseZeroedBypass(const MaskedModel& model, Reasons& reasons) {
    model.refuse(
        reasons,
        [](const CutLayer& layer) {
            return layer.mask.attention == AttentionCut::bypassQk && !dropsAttention(layer.mask);
        },
        "queries and keys are bypassed; with zero weights each token would attend equally to all tokens, not to "
        "itself");
}

bool isOneOf(const ModelSpec& spec, std::span<const std::string_view> architectures) {
    return std::ranges::find(architectures, spec.architecture) != architectures.end();
}

/// The layers in which a mask cuts some heads.
std::vector<int> layersWithFewerHeads(const MaskedModel& model) {
    return model.layers([](const CutLayer& layer) { return layer.hasAttention() && layer.heads() < layer.spec.heads; });
}

/// Adds a reason if the configuration of the architecture in transformers cannot state a number of heads. Of a Llama
/// model without biases, the export is a Mistral model if the heads do not divide the hidden size (nativeLayout()).
/// @param spec with the biases that the compensation adds (withCompensationBiases())
void refuseHeadCount(const MaskedModel& model, const ModelSpec& spec, int heads, Reasons& reasons) {
    static constexpr std::array<std::string_view, 3> anyCount{"mistral", "qwen2", "qwen3"};
    static constexpr std::array<std::string_view, 3> divisors{"llama", "gemma2", "gemma3"};
    if (heads == spec.maxHeads() || isOneOf(spec, anyCount))
        return;
    const LayerSpec& first = spec.layers.front();
    const bool isPlainLlama = spec.architecture == "llama" && !first.queryBias && !first.upBias;
    if (!isOneOf(spec, divisors))
        reasons.emplace_back(
            fmt::format("transformers derives the head size of {} from the number of heads, so none can be "
                        "removed",
                        spec.architecture),
            layersWithFewerHeads(model));
    else if (heads > 0 && spec.hidden % heads != 0 && !isPlainLlama)
        reasons.emplace_back(
            fmt::format("transformers 5 refuses {} heads: {} is not a multiple of that", heads, spec.hidden),
            layersWithFewerHeads(model));
}

/// The same for llama.cpp, where some architectures have queries as wide as the residual stream.
void refuseGgufHeadCount(const MaskedModel& model, const ModelSpec& spec, int heads, Reasons& reasons) {
    static constexpr std::array<std::string_view, 5> fixed{"qwen2", "phi", "gpt2", "bert", "roberta"};
    if (isOneOf(spec, fixed) && heads * spec.layers.front().headDim != spec.hidden)
        reasons.emplace_back(
            fmt::format("llama.cpp reads queries of {} only at the width of the residual stream, so no head "
                        "can be removed",
                        spec.architecture),
            layersWithFewerHeads(model));
}

/// Adds a reason if dropped blocks would change which layers have a window. llama.cpp decides it by the layer's number.
void refuseOtherWindows(const MaskedModel& model, const ModelSpec& spec, Reasons& reasons) {
    const int period = spec.architecture == "gemma2" ? 2 : spec.architecture == "gemma3" ? 6 : 0;
    int next = 0;
    const std::vector<int> moved = model.layers([&](const CutLayer& layer) {
        if (period == 0 || !layer.mask.block)
            return false;
        const bool isLocal = period == 2 ? next % 2 == 0 : (next + 1) % period != 0;
        ++next;
        return (layer.spec.window > 0) != isLocal;
    });
    if (!moved.empty())
        reasons.emplace_back(
            fmt::format("{}: without the dropped blocks, llama.cpp would take a layer with a sliding window "
                        "for one without, or the reverse",
                        named(moved)),
            moved);
}

/// Adds a reason if blocks are dropped in an architecture whose layers depend on their number.
void refuseMovedLayers(const MaskedModel& model, const ModelSpec& spec, Reasons& reasons) {
    const bool dependsOnNumber = std::ranges::any_of(
        spec.layers, [&](const LayerSpec& layer) { return layer.scoreScale != spec.layers.front().scoreScale; });
    if (dependsOnNumber)
        model.refuse(
            reasons, [](const CutLayer& layer) { return !layer.mask.block; },
            "the block is dropped, but the attention scores of later layers depend on their number");
    if (spec.normPlace == NormPlace::after)
        model.refuse(
            reasons, [](const CutLayer& layer) { return !layer.mask.block; },
            "the block is dropped, but the norms after its sublayers would still act");
}

/// Adds a reason if nothing remains.
void refuseEmpty(const MaskedModel& model, const ModelSpec& spec, Reasons& reasons) {
    const std::vector<int> kept =
        model.layers([](const CutLayer& layer) { return layer.hasAttention() || layer.hasMlp(); });
    if (kept.empty() && spec.layerCount() > 0)
        reasons.emplace_back("no attention and no MLP would remain in any layer");
}

void refuseTied(const ModelSpec& spec, Reasons& reasons) {
    if (!spec.tiedGroups().empty())
        reasons.emplace_back("its layers share their weights, which only checkpoints of unchanged shapes can store");
}

/// Adds a reason if a checkpoint of one format cannot become one of the other.
void refuseUnlike(Reasons& reasons, const ModelSpec& spec, std::string_view format, std::string_view wanted) {
    const bool isConverted = (format == "gguf") != (wanted == "gguf");
    if (!isConverted)
        return;
    if (spec.family == Family::encoder)
        reasons.emplace_back("encoders are exported in the format of the source only");
    const bool isPlain = !spec.architecture.starts_with("gemma");
    const bool hasWindow = std::ranges::any_of(spec.layers, [](const LayerSpec& layer) { return layer.window > 0; });
    if (wanted == "gguf" && isPlain && hasWindow)
        reasons.push_back(fmt::format("llama.cpp runs {} without the sliding window of this model", spec.architecture));
    if (wanted == "gguf" && std::ranges::any_of(spec.layers, [](const LayerSpec& layer) {
            return layer.attention == AttentionKind::full &&
                   std::abs(layer.scoreScale * std::sqrt(layer.headDim) - 1) > 1e-6;
        }))
        reasons.emplace_back("GGUF cannot state the factor of its attention scores");
    const bool isUniform = std::ranges::all_of(spec.layers, [&](const LayerSpec& layer) {
        return layer.attention == AttentionKind::full && layer.heads == spec.layers.front().heads &&
               layer.kvHeads == spec.layers.front().kvHeads && layer.ffn == spec.layers.front().ffn;
    });
    if (wanted != "gguf" && !isUniform)
        reasons.emplace_back("layers of a GGUF that differ can only be exported as GGUF");
}

/// Adds a reason if the exported layers differ in shape.
void refuseVaryingShapes(const MaskedModel& model, const ExportLayout& layout, Reasons& reasons) {
    const auto sizeOf = [&layout](int LayerSpec::*size) {
        return [&layout, size](const CutLayer& layer) {
            const auto place = std::ranges::find(layout.layers, layer.index, &ExportedLayer::source);
            return layout.spec.layers[static_cast<std::size_t>(place - layout.layers.begin())].*size;
        };
    };
    const std::size_t before = reasons.size();
    model.refuseVarying(reasons, sizeOf(&LayerSpec::heads),
                        "head counts vary between layers, but the configuration has one value for all");
    model.refuseVarying(reasons, sizeOf(&LayerSpec::kvHeads),
                        "KV head counts vary between layers, but the configuration has one value for all");
    model.refuseVarying(reasons, sizeOf(&LayerSpec::ffn), varyingWidths);
    if (reasons.size() > before)
        model.refuseUnequalGroups(reasons);
}

void refuseBiases(const MaskedModel& model, const ModelSpec& spec, std::string_view format, Reasons& reasons) {
    for (const bool attention : {true, false})
        model.refuse(
            reasons,
            [&](const CutLayer& layer) {
                return addsBias(layer.spec, layer.mask, attention) &&
                       biasRoom(spec, layer.spec, attention, format) == BiasRoom::none;
            },
            fmt::format("the compensation adds a bias to {}, but {} checkpoints of {} have none there",
                        attention ? "the output projection of attention" : "the down projection of the MLP", format,
                        spec.architecture));
}

/// Adds a reason if a compensation adds a bias anywhere.
void refuseAllBiases(const MaskedModel& model, Reasons& reasons, std::string_view sentence) {
    model.refuse(
        reasons,
        [](const CutLayer& layer) {
            return addsBias(layer.spec, layer.mask, true) || addsBias(layer.spec, layer.mask, false);
        },
        sentence);
}

} // namespace

Reasons maskedReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    const MaskedModel model(mask, spec);
    Reasons reasons;
    refuseZeroedBypass(model, reasons);
    refuseBiases(model, spec, format, reasons);
    if (spec.normPlace == NormPlace::after)
        model.refuse(
            reasons, [](const CutLayer& layer) { return !layer.mask.block; },
            "the block is dropped, but the norms after its sublayers would still act");
    return reasons;
}

namespace {

/// Reasons that hold for the model's own architecture in any format: its layers have one shape.
Reasons uniformReasons(const PruningMask& mask, const ModelSpec& spec) {
    const MaskedModel model(mask, spec);
    Reasons reasons;
    refuseTied(spec, reasons);
    refuseEmpty(model, spec, reasons);
    model.refuseBypass(reasons, "queries and keys are bypassed, which the model's own architecture does not support");
    model.refuse(
        reasons, [](const CutLayer& layer) { return layer.mask.block && (!layer.heads() || !layer.neurons()); },
        "no attention or no MLP would remain, but the model's own architecture requires both");
    if (reasons.empty())
        refuseVaryingShapes(model, raggedLayout(spec, mask, "native"), reasons);
    refuseMovedLayers(model, spec, reasons);
    return reasons;
}

/// The number of heads of a layer in an export of the model's own architecture.
int exportedHeads(const PruningMask& mask, const ModelSpec& spec) {
    return raggedLayout(spec, mask, "native").spec.maxHeads();
}

} // namespace

Reasons ggufNativeReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    Reasons reasons = uniformReasons(mask, spec);
    const MaskedModel model(mask, spec);
    refuseUnlike(reasons, spec, format, "gguf");
    refuseGgufHeadCount(model, spec, exportedHeads(mask, spec), reasons);
    refuseOtherWindows(model, spec, reasons);
    refuseBiases(model, spec, "gguf", reasons);
    return reasons;
}

Reasons ggufDeciReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    if (!isLlamaLike(spec))
        return {fmt::format(
            "llama.cpp's architecture deci needs a Llama-like model without norms of queries and keys ({}); {} is not",
            llamaLike, spec.architecture)};
    const MaskedModel model(mask, spec);
    Reasons reasons;
    refuseUnlike(reasons, spec, format, "gguf");
    refuseEmpty(model, spec, reasons);
    model.refuse(
        reasons,
        [&](const CutLayer& layer) {
            return layer.spec.queryBias && layer.heads() > 0 && layer.heads() * layer.spec.headDim != spec.hidden;
        },
        "there is a query bias, which llama.cpp reads only at the width of the residual stream");
    model.refuse(
        reasons, [](const CutLayer& layer) { return layer.bypasses() && layer.hasAttention() && layer.spec.valueBias; },
        "queries and keys are bypassed, but the linear layer that replaces attention has no bias, and the values "
        "have one");
    refuseAllBiases(model, reasons, "the compensation adds a bias, but layers of deci have none there");
    return reasons;
}

namespace {

/// Whether each layer is one of OpenELM: norms before the sublayers and of queries and keys, whole heads rotated
/// without scaling by divisors, no biases, one head size.
bool isOpenElmLike(const ModelSpec& spec) {
    const auto first = std::ranges::find(spec.layers, AttentionKind::full, &LayerSpec::attention);
    const auto fits = [&](const LayerSpec& layer) {
        return layer.attention == AttentionKind::none ||
               (layer.attention == AttentionKind::full && layer.normsHeads && layer.headDim == first->headDim &&
                layer.rotary == first->rotary && !layer.queryBias && !layer.keyBias && !layer.valueBias);
    };
    return first != spec.layers.end() && hasLlamaBlocks(spec) && spec.tiedEmbeddings &&
           first->rotary.scaling != RopeScaling::llama3 && first->rotary.scaling != RopeScaling::listed &&
           std::ranges::all_of(spec.layers, fits);
}

} // namespace

Reasons ggufOpenElmReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    if (!isOpenElmLike(spec))
        return {fmt::format("llama.cpp's architecture openelm needs norms of queries and keys, a tied LM head and {}; "
                            "{} does not have all of this",
                            llamaLike, spec.architecture)};
    const MaskedModel model(mask, spec);
    Reasons reasons;
    refuseUnlike(reasons, spec, format, "gguf");
    refuseEmpty(model, spec, reasons);
    model.refuseBypass(reasons, "queries and keys are bypassed, which openelm does not support");
    refuseAllBiases(model, reasons, "the compensation adds a bias, but layers of openelm have none there");
    return reasons;
}

Reasons nativeReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    Reasons reasons = uniformReasons(mask, spec);
    refuseUnlike(reasons, spec, format, "safetensors");
    const MaskedModel model(mask, spec);
    refuseHeadCount(model, withCompensationBiases(spec, mask, "safetensors"), exportedHeads(mask, spec), reasons);
    refuseBiases(model, spec, "safetensors", reasons);
    return reasons;
}

Reasons deciLmReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    if (!isLlamaLike(spec))
        return {fmt::format("DeciLM is a Llama-like model: {}; {} is not", llamaLike, spec.architecture)};
    const MaskedModel model(mask, spec);
    Reasons reasons;
    refuseUnlike(reasons, spec, format, "safetensors");
    refuseEmpty(model, spec, reasons);
    model.refuse(
        reasons, [](const CutLayer& layer) { return layer.hasAttention() && layer.heads() != layer.spec.heads; },
        "some heads are cut, but DeciLM has one number of query heads for all layers");
    model.refuse(
        reasons, [](const CutLayer& layer) { return layer.spec.queryBias || layer.spec.valueBias; },
        "there are biases of queries or values, which DeciLM does not support");
    model.refuseBypass(reasons, "queries and keys are bypassed, which DeciLM runtimes ignore");
    if (!spec.layers.empty() && spec.maxHeads() * spec.layers.front().headDim != spec.hidden)
        reasons.emplace_back("the heads together are not as wide as the residual stream, as those of DeciLM are");
    refuseAllBiases(model, reasons, "the compensation adds a bias, which DeciLM does not support");
    return reasons;
}

Reasons perLayerReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    static constexpr std::array<std::string_view, 6> known{"llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3"};
    if (!isOneOf(spec, known))
        return {fmt::format("the Python classes of this layout are for {}; {} is another architecture",
                            fmt::join(known, ", "), spec.architecture)};
    const MaskedModel model(mask, spec);
    Reasons reasons;
    model.refuse(
        reasons, [](const CutLayer& layer) { return layer.spec.attention == AttentionKind::linear; },
        "attention is a single matrix, which these classes do not have");
    refuseUnlike(reasons, spec, format, "safetensors");
    refuseTied(spec, reasons);
    refuseEmpty(model, spec, reasons);
    refuseMovedLayers(model, spec, reasons);
    return reasons;
}

Reasons paddedReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    const MaskedModel model(mask, spec);
    Reasons reasons;
    refuseZeroedBypass(model, reasons);
    refuseTied(spec, reasons);
    refuseEmpty(model, spec, reasons);
    refuseMovedLayers(model, spec, reasons);
    model.refuse(
        reasons,
        [](const CutLayer& layer) {
            const AttentionKind kind = layer.spec.attention;
            return layer.hasAttention() && (kind == AttentionKind::linear || kind == AttentionKind::valueOnly);
        },
        "the attention has no queries and keys, so it cannot get heads of zeros");
    if (!reasons.empty())
        return reasons;
    refuseBiases(model, spec, format, reasons);
    const ModelSpec padded = paddedLayout(spec, mask, format).spec;
    if (padded.structure() == spec.structure())
        reasons.emplace_back(
            "one layer keeps all its heads and one all its neurons: padded to these counts, nothing gets smaller",
            model.layers([](const CutLayer& layer) {
                return layer.mask.block && (layer.heads() == layer.spec.heads || layer.neurons() == layer.spec.ffn);
            }));
    if (format == "gguf") {
        refuseGgufHeadCount(model, spec, padded.maxHeads(), reasons);
        refuseOtherWindows(model, spec, reasons);
    } else {
        refuseHeadCount(model, withCompensationBiases(spec, mask, format), padded.maxHeads(), reasons);
    }
    return reasons;
}

} // namespace secateur
