#include "backends/formats/hf_layers.h"

#include "backends/config/architectures.h"
#include "backends/formats/config_keys.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>

namespace secateur {

namespace {

const std::string fullAttention = "full_attention";
const std::string slidingAttention = "sliding_attention";

int headDim(const JsonObject& config, const ArchitectureInfo& architecture, int hidden, int heads) {
    // null stands for an even share, an absent key for the class's default.
    const int otherwise = config.has("head_dim") ? 0 : architecture.defaults.headDim;
    const int size = widthAt(config, "head_dim", otherwise);
    return size > 0 ? size : headDimOf(hidden, heads, config.subject());
}

int kvHeads(const JsonObject& config, const ArchitectureInfo& architecture, int heads) {
    const int otherwise = config.has("num_key_value_heads") ? 0 : architecture.defaults.kvHeads;
    return widthAt(config, "num_key_value_heads", otherwise > 0 ? otherwise : heads);
}

/// @param kind of layer, which rope_parameters may name
RotarySpec readRotary(const JsonObject& config, const ArchitectureInfo& architecture, int size,
                      const std::string& kind) {
    RotarySpec rotary;
    if (architecture.positions != Positions::rotary)
        return rotary;
    double share = architecture.defaults.rotaryShare;
    const bool isPartial = share < 1;
    const bool isLocal = architecture.localRotary && kind == slidingAttention;
    rotary.theta = isLocal ? positiveAt(config, "rope_local_base_freq", 1e4)
                           : positiveAt(config, "rope_theta", architecture.defaults.ropeTheta);
    if (isPartial)
        share = positiveAt(config, "partial_rotary_factor", share);
    if (const auto scaling = config.object("rope_scaling"); scaling && !isLocal)
        readScaling(*scaling, rotary);
    auto parameters = config.object("rope_parameters"); // transformers 5
    if (parameters && parameters->object(kind))
        parameters = parameters->object(kind);
    if (parameters) {
        rotary.theta = positiveAt(*parameters, "rope_theta", rotary.theta);
        if (isPartial)
            share = positiveAt(*parameters, "partial_rotary_factor", share);
        readScaling(*parameters, rotary);
    }
    if (share > 1)
        config.refuse("partial_rotary_factor", fmt::format("expected a share from 0 to 1, found {}", share));
    rotary.dims = static_cast<int>(size * share);
    return rotary;
}

void readBiases(const JsonObject& config, const ArchitectureInfo& architecture, LayerSpec& layer) {
    const Biases biases = architecture.biases;
    const bool all = biases == Biases::all;
    const bool attention = all || (biases == Biases::byKey && config.flag("attention_bias").value_or(false));
    const bool mlp = all || (biases == Biases::byKey && config.flag("mlp_bias").value_or(false));
    layer.queryBias = layer.keyBias = layer.valueBias = attention || biases == Biases::queryKeyValue;
    layer.outputBias = attention;
    layer.gateBias = mlp && architecture.gatedMlp;
    layer.upBias = layer.downBias = mlp;
}

double scoreScale(const JsonObject& config, const ArchitectureInfo& architecture, int size) {
    if (!config.flag("scale_attn_weights").value_or(true)) // GPT-2
        return 1;
    const int scalar = architecture.defaults.queryScalar;
    return 1 / std::sqrt(scalar > 0 ? positiveAt(config, "query_pre_attn_scalar", scalar) : size);
}

/// Whether each layer sees a window only.
std::vector<bool> windowed(const JsonObject& config, const ArchitectureInfo& architecture, std::size_t layers) {
    std::vector<bool> local(layers, architecture.windows == Windows::all);
    if (architecture.windows == Windows::none || architecture.windows == Windows::all)
        return local;
    const bool isQwen = architecture.windows == Windows::fromMaxWindowLayers;
    if (isQwen && !config.flag("use_sliding_window").value_or(false))
        return local;
    if (const auto types = config.texts("layer_types")) {
        if (types->size() != layers)
            config.refuse("layer_types",
                          fmt::format("expected {} kinds, one per layer, found {}", layers, types->size()));
        for (std::size_t i = 0; i < layers; ++i) {
            local[i] = (*types)[i] == slidingAttention;
            if (!local[i] && (*types)[i] != fullAttention)
                config.refuse("layer_types", fmt::format("the kind of layer \"{}\" is not known", (*types)[i]));
        }
        return local;
    }
    const int first = countAt(config, "max_window_layers", 28);
    const int period = widthAt(config, "sliding_window_pattern", 6);
    for (std::size_t i = 0; i < layers; ++i) {
        const auto index = static_cast<int>(i);
        local[i] = isQwen                                        ? index >= first
                   : architecture.windows == Windows::evenLayers ? index % 2 == 0
                                                                 : (index + 1) % period != 0;
    }
    return local;
}

/// Heads that transformers 4 took out for good: {"0": [1, 5]}, by the number of the stored layer.
void takeOutPrunedHeads(const JsonObject& config, std::vector<LayerSpec>& layers) {
    const auto pruned = config.object("pruned_heads");
    if (!pruned)
        return;
    for (const std::string& key : pruned->keys()) {
        int layer = -1;
        const auto [end, failure] = std::from_chars(key.data(), key.data() + key.size(), layer);
        if (failure != std::errc() || end != key.data() + key.size() || layer < 0 ||
            layer >= static_cast<int>(layers.size()))
            pruned->refuse(key, "is not the number of a layer");
        const auto list = pruned->sizes(key).value_or(std::vector<std::int64_t>());
        const std::set<std::int64_t> heads(list.begin(), list.end());
        for (std::size_t i = 0; i < layers.size(); ++i) {
            LayerSpec& spec = layers[i];
            if ((spec.stored < 0 ? static_cast<int>(i) : spec.stored) != layer)
                continue;
            if (!heads.empty() && *heads.rbegin() >= spec.heads)
                pruned->refuse(key, fmt::format("names head {} of {}", *heads.rbegin(), spec.heads));
            spec.heads -= static_cast<int>(heads.size());
            spec.kvHeads = spec.heads;
        }
    }
}

/// ALBERT's layers: each application of a group runs all of its layers.
void shareLayers(const JsonObject& config, std::vector<LayerSpec>& layers) {
    const int inner = widthAt(config, "inner_group_num", 1);
    const int groups = widthAt(config, "num_hidden_groups", 1);
    const auto applications = static_cast<int>(layers.size());
    if (groups > applications || std::int64_t{inner} * applications > mostLayers)
        config.refuse("num_hidden_groups",
                      fmt::format("{} groups of {} layers do not make {} layers", groups, inner, applications));
    std::vector<LayerSpec> all;
    for (int application = 0; application < applications; ++application) {
        // As transformers counts, which also serves numbers that do not divide.
        const int group = static_cast<int>(application / (static_cast<double>(applications) / groups));
        for (int i = 0; i < inner; ++i) {
            all.push_back(layers[static_cast<std::size_t>(application)]);
            if (const int stored = group * inner + i; stored != static_cast<int>(all.size()) - 1)
                all.back().stored = stored;
        }
    }
    layers = std::move(all);
}

} // namespace

std::vector<LayerSpec> readLayers(const JsonObject& config, const ArchitectureInfo& architecture, int hidden) {
    const ConfigDefaults& defaults = architecture.defaults;
    LayerSpec layer;
    layer.heads = widthAt(config, architecture.keys.heads, defaults.heads);
    layer.kvHeads = kvHeads(config, architecture, layer.heads);
    layer.headDim = headDim(config, architecture, hidden, layer.heads);
    layer.ffn = widthAt(config, architecture.keys.ffn, defaults.ffn > 0 ? defaults.ffn : 4 * hidden);
    layer.normsHeads = architecture.normsHeads;
    layer.scoreScale = scoreScale(config, architecture, layer.headDim);
    readBiases(config, architecture, layer);

    const std::string layersKey(architecture.keys.layers);
    const auto count = static_cast<std::size_t>(config.integer(layersKey, 1, mostLayers).value_or(defaults.layers));
    const int window = config.has("sliding_window") ? countAt(config, "sliding_window", 0) : defaults.window;
    const bool byLayer = config.flag("scale_attn_by_inverse_layer_idx").value_or(false); // GPT-2
    const RotarySpec everywhere = readRotary(config, architecture, layer.headDim, fullAttention);
    const RotarySpec inWindows = readRotary(config, architecture, layer.headDim, slidingAttention);
    const std::vector<bool> local = windowed(config, architecture, count);
    std::vector<LayerSpec> layers(count, layer);
    for (std::size_t i = 0; i < count; ++i) {
        layers[i].window = local[i] ? window : 0;
        layers[i].rotary = local[i] ? inWindows : everywhere;
        if (byLayer)
            layers[i].scoreScale /= static_cast<double>(i + 1);
    }
    if (defaults.embeddingWidth > 0)
        shareLayers(config, layers);
    takeOutPrunedHeads(config, layers);
    return layers;
}

} // namespace secateur
