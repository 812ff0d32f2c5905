#include "analysis/export/bias_room.h"

#include <algorithm>
#include <array>

namespace secateur {

namespace {

/// Architectures of transformers whose configuration can give a bias to all projections of attention.
constexpr std::array<std::string_view, 4> attentionBiasInConfig{"llama", "qwen3", "gemma2", "gemma3"};
/// Architectures of transformers whose configuration can give a bias to all projections of the MLP.
constexpr std::array<std::string_view, 1> mlpBiasInConfig{"llama"};
/// Architectures of llama.cpp whose output and down projections may have a bias.
constexpr std::array<std::string_view, 1> optionalBiasInGguf{"llama"};

void addBiases(LayerSpec& layer, bool attention, bool all, bool gated) {
    if (attention) {
        layer.outputBias = true;
        layer.queryBias = layer.queryBias || all;
        layer.keyBias = layer.keyBias || all;
        layer.valueBias = layer.valueBias || all;
    } else {
        layer.downBias = true;
        layer.upBias = layer.upBias || all;
        layer.gateBias = layer.gateBias || (all && gated);
    }
}

} // namespace

BiasRoom biasRoom(const ModelSpec& spec, const LayerSpec& layer, bool attention, std::string_view format) {
    const auto isIn = [&](const auto& known) { return std::ranges::find(known, spec.architecture) != known.end(); };
    if (attention ? layer.outputBias : layer.downBias)
        return BiasRoom::own;
    if (format == "gguf")
        return isIn(optionalBiasInGguf) ? BiasRoom::addedOnce : BiasRoom::none;
    const bool isKnown = attention ? isIn(attentionBiasInConfig) : isIn(mlpBiasInConfig);
    return isKnown && format == "safetensors" ? BiasRoom::addedToAll : BiasRoom::none;
}

bool addsBias(const LayerSpec& layer, const LayerMask& mask, bool attention) {
    const LayerCompensation& own = compensationOf(mask);
    if (attention)
        return layer.attention != AttentionKind::none && !dropsAttention(mask) && !own.attentionBias.empty();
    return layer.ffn > 0 && !dropsMlp(mask) && !own.mlpBias.empty();
}

ModelSpec withCompensationBiases(ModelSpec spec, const PruningMask& mask, std::string_view format) {
    const ModelSpec source = spec;
    for (const bool attention : {true, false}) {
        bool all = false;
        for (int index = 0; index < spec.layerCount(); ++index) {
            const LayerSpec& layer = source.layers[static_cast<std::size_t>(index)];
            const BiasRoom room = biasRoom(source, layer, attention, format);
            if (!addsBias(layer, mask.layer(index), attention) || room == BiasRoom::own)
                continue;
            all = all || room == BiasRoom::addedToAll;
            addBiases(spec.layers[static_cast<std::size_t>(index)], attention, all, spec.gatedMlp);
        }
        for (LayerSpec& layer : spec.layers)
            if (all)
                addBiases(layer, attention, true, spec.gatedMlp);
    }
    return spec;
}

} // namespace secateur
