#include "backends/formats/layer_config.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>

namespace secateur {

namespace {

constexpr std::int64_t mostWindow = std::numeric_limits<int>::max();

/// The layer that a key names: a decimal number, also with leading zeros. @throws Error if there is no such layer
std::size_t layerNamed(const JsonObject& object, const std::string& key, std::size_t layers) {
    std::size_t layer = 0;
    const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), layer);
    if (failure != std::errc() || end != key.data() + key.size() || layer >= layers)
        object.refuse(key, "is not the index of a layer");
    return layer;
}

void readWidth(const JsonObject& object, std::string_view key, int& width) {
    width = static_cast<int>(object.integer(std::string(key), 1, mostWidth).value_or(width));
}

void removeAttention(LayerSpec& layer) {
    layer.attention = AttentionKind::none;
    layer.heads = layer.kvHeads = 0;
    layer.queryBias = layer.keyBias = layer.valueBias = layer.outputBias = false;
}

void removeMlp(LayerSpec& layer) {
    layer.ffn = 0;
    layer.gateBias = layer.upBias = layer.downBias = false;
}

// --- block_configs ---

/// The number of neurons of a DeciLM layer.
int widthOfMultiple(const JsonObject& mlp, int hidden) {
    const auto multiple = mlp.number("ffn_mult");
    if (!multiple)
        mlp.refuse("ffn_mult", "is missing");
    constexpr double step = 256;
    const double width = std::ceil(std::floor(2 * *multiple * hidden / 3) / step) * step;
    if (!(width >= 1 && width <= static_cast<double>(mostWidth)))
        mlp.refuse("ffn_mult", fmt::format("{} times 2/3 of the hidden size {} is not a width from 1 to {}", *multiple,
                                           hidden, mostWidth));
    return static_cast<int>(width);
}

void readBlockAttention(const JsonObject& attention, LayerSpec& layer) {
    const bool isLinear = attention.flag("replace_with_linear").value_or(false);
    if (attention.flag("no_op").value_or(false)) {
        if (isLinear)
            attention.refuse("replace_with_linear", "the layer has no attention (no_op)");
        removeAttention(layer);
        return;
    }
    if (isLinear) {
        layer.attention = AttentionKind::linear;
        layer.kvHeads = 0;
        layer.queryBias = layer.keyBias = layer.valueBias = false;
        return;
    }
    const auto perGroup = attention.integer("n_heads_in_group", 1, mostWidth);
    if (!perGroup)
        attention.refuse("n_heads_in_group", "is missing");
    if (layer.heads % *perGroup != 0)
        attention.refuse("n_heads_in_group", fmt::format("{} heads cannot form groups of {}", layer.heads, *perGroup));
    layer.kvHeads = static_cast<int>(layer.heads / *perGroup);
}

void readBlockMlp(const JsonObject& mlp, int hidden, LayerSpec& layer) {
    if (mlp.flag("no_op").value_or(false))
        removeMlp(layer);
    else
        layer.ffn = widthOfMultiple(mlp, hidden);
}

// --- per_layer_config ---

/// Settings that may stand in a layer's entry or, for all layers, beside per_layer_config.
void readOutputBiases(const JsonObject& settings, LayerSpec& layer) {
    layer.outputBias = settings.flag("attention_output_bias").value_or(layer.outputBias);
    layer.downBias = settings.flag("mlp_output_bias").value_or(layer.downBias);
}

void readBypass(const JsonObject& settings, LayerSpec& layer) {
    if (!settings.isSet("bypass_qk"))
        return;
    layer.attention = AttentionKind::valueOnly;
    layer.alpha = *settings.number("bypass_qk");
    layer.queryBias = layer.keyBias = false;
    if (!(layer.alpha > 0 && std::isfinite(static_cast<float>(layer.alpha))))
        settings.refuse("bypass_qk", fmt::format("expected a number above 0, found {}", layer.alpha));
}

void readSkip(const JsonObject& settings, const ArchitectureInfo& architecture, LayerSpec& layer) {
    for (const std::string& sublayer : settings.texts("skip").value_or(std::vector<std::string>())) {
        if (sublayer != "attention" && sublayer != "mlp")
            settings.refuse("skip", fmt::format("the sublayer \"{}\" is unknown; known are attention, mlp", sublayer));
        if (architecture.normPlace == NormPlace::parallel)
            settings.refuse("skip", "is not supported in this architecture, whose attention and MLP share a norm");
        if (sublayer == "attention" && settings.isSet("bypass_qk"))
            settings.refuse("bypass_qk", "the layer has no attention (skip)");
        sublayer == "mlp" ? removeMlp(layer) : removeAttention(layer);
    }
}

/// Whether the configuration states a head size for all layers.
bool statesHeadDim(const JsonObject& config, const ArchitectureInfo& architecture) {
    return config.isSet("head_dim") || (!config.has("head_dim") && architecture.defaults.headDim > 0);
}

void readShape(const JsonObject& settings, const ArchitectureInfo& architecture, bool hasHeadDim, LayerSpec& layer) {
    const std::string headsKey(architecture.keys.heads);
    const int heads = layer.heads;
    readWidth(settings, headsKey, layer.heads);
    readWidth(settings, "num_key_value_heads", layer.kvHeads);
    readWidth(settings, "head_dim", layer.headDim);
    readWidth(settings, architecture.keys.ffn, layer.ffn);
    if (layer.heads != heads && !hasHeadDim && !settings.isSet("head_dim"))
        settings.refuse(headsKey, "needs head_dim, which the configuration does not state");
    if (settings.has("sliding_window"))
        layer.window = static_cast<int>(settings.integer("sliding_window", 0, mostWindow).value_or(0));
}

} // namespace

void readPrunedHeads(const JsonObject& config, std::vector<LayerSpec>& layers) {
    const auto pruned = config.object("pruned_heads");
    if (!pruned)
        return;
    for (const std::string& key : pruned->keys()) {
        const auto layer = static_cast<int>(layerNamed(*pruned, key, layers.size()));
        const auto list = pruned->sizes(key).value_or(std::vector<std::int64_t>());
        const std::set<std::int64_t> heads(list.begin(), list.end());
        for (std::size_t i = 0; i < layers.size(); ++i) {
            LayerSpec& spec = layers[i];
            if ((spec.stored < 0 ? static_cast<int>(i) : spec.stored) != layer)
                continue;
            if (!heads.empty() && *heads.rbegin() >= spec.heads)
                pruned->refuse(key,
                               fmt::format("names head {}, but the layer has {} heads", *heads.rbegin(), spec.heads));
            spec.heads -= static_cast<int>(heads.size());
            spec.kvHeads = spec.heads;
        }
    }
}

void readBlockConfigs(const JsonObject& config, int hidden, std::vector<LayerSpec>& layers) {
    const auto blocks = config.objects("block_configs");
    if (!blocks)
        return;
    if (blocks->size() != layers.size())
        config.refuse("block_configs",
                      fmt::format("expected {} objects, one per layer, found {}", layers.size(), blocks->size()));
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const JsonObject& block = (*blocks)[i];
        const auto attention = block.object("attention");
        const auto mlp = block.object("ffn");
        if (!attention || !mlp)
            block.refuse(attention ? "ffn" : "attention", "is missing");
        readBlockAttention(*attention, layers[i]);
        readBlockMlp(*mlp, hidden, layers[i]);
    }
}

void readLayerConfig(const JsonObject& config, const ArchitectureInfo& architecture, std::vector<LayerSpec>& layers) {
    for (LayerSpec& layer : layers)
        readOutputBiases(config, layer);
    const auto entries = config.object("per_layer_config");
    if (!entries)
        return;
    const bool hasHeadDim = statesHeadDim(config, architecture);
    std::set<std::size_t> seen;
    for (const std::string& key : entries->keys()) {
        const std::size_t index = layerNamed(*entries, key, layers.size());
        if (!seen.insert(index).second)
            entries->refuse(key, "names the same layer as an earlier key");
        const auto settings = entries->object(key);
        if (!settings)
            entries->refuse(key, "expected an object, found null");
        readShape(*settings, architecture, hasHeadDim, layers[index]);
        readOutputBiases(*settings, layers[index]);
        readBypass(*settings, layers[index]);
        readSkip(*settings, architecture, layers[index]);
    }
}

} // namespace secateur
