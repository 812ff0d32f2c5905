#include "backends/export/layered_config.h"

#include "backends/config/architectures.h"
#include "backends/export/compact_config.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>

namespace secateur {

namespace {

using ConfigJson = nlohmann::ordered_json;

/// "qwen3" as the part of a class name: "Qwen3".
std::string className(std::string architecture) {
    architecture.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(architecture.front())));
    return architecture;
}

int widest(const ModelSpec& spec, int LayerSpec::*size) {
    int most = 1;
    for (const LayerSpec& layer : spec.layers)
        most = std::max(most, layer.*size);
    return most;
}

/// The settings in which a layer differs from the global values.
ConfigJson settingsOf(const LayerSpec& layer, const ConfigJson& config) {
    ConfigJson settings = ConfigJson::object();
    ConfigJson skipped = ConfigJson::array();
    const auto set = [&](const char* key, int value) {
        if (config.at(key) != value)
            settings[key] = value;
    };
    if (layer.attention == AttentionKind::none) {
        skipped.push_back("attention");
    } else {
        set("num_attention_heads", layer.heads);
        set("num_key_value_heads", layer.kvHeads);
        if (layer.outputBias != config.value("attention_bias", false))
            settings["attention_output_bias"] = layer.outputBias;
    }
    if (layer.attention == AttentionKind::valueOnly)
        settings["bypass_qk"] = layer.alpha;
    if (layer.ffn == 0) {
        skipped.push_back("mlp");
    } else {
        set("intermediate_size", layer.ffn);
        if (layer.downBias != config.value("mlp_bias", false))
            settings["mlp_output_bias"] = layer.downBias;
    }
    if (!skipped.empty())
        settings["skip"] = skipped;
    return settings;
}

/// The object of the language model alone: multimodal checkpoints have it in text_config.
ConfigJson parsedConfig(const std::string& text) {
    ConfigJson config = ConfigJson::parse(text);
    if (const auto nested = config.find("text_config"); nested != config.end() && nested->is_object())
        return *nested;
    return config;
}

std::string finished(const ConfigJson& config) {
    return config.dump(2) + "\n";
}

} // namespace

std::string perLayerConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                           const std::string& type) {
    ConfigJson json = parsedConfig(compactConfig(config, source, layout, type));
    json["num_attention_heads"] = widest(layout.spec, &LayerSpec::heads);
    json["num_key_value_heads"] = widest(layout.spec, &LayerSpec::kvHeads);
    json["head_dim"] = layout.spec.layers.front().headDim;
    json["intermediate_size"] = widest(layout.spec, &LayerSpec::ffn);
    for (const char* key : {"bypass_qk", "attention_output_bias", "mlp_output_bias"})
        json.erase(key);
    ConfigJson layers = ConfigJson::object();
    for (int index = 0; index < layout.spec.layerCount(); ++index)
        if (const ConfigJson own = settingsOf(layout.spec.layers[static_cast<std::size_t>(index)], json); !own.empty())
            layers[std::to_string(index)] = own;
    json["per_layer_config"] = layers;
    const std::string name = "Secateur" + className(source.architecture);
    const std::string module = "modeling_secateur";
    json["model_type"] = "secateur_" + source.architecture;
    json["architectures"] = {name + "ForCausalLM"};
    json["auto_map"] = {{"AutoConfig", module + "." + name + "Config"},
                        {"AutoModelForCausalLM", module + "." + name + "ForCausalLM"}};
    return finished(json);
}

std::string deciLmConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                         const std::string& type) {
    ConfigJson json = parsedConfig(compactConfig(config, source, layout, type));
    json["model_type"] = "nemotron-nas";
    json["architectures"] = {"DeciLMForCausalLM"};
    json["num_attention_heads"] = source.maxHeads();
    for (const char* key : {"num_key_value_heads", "intermediate_size", "head_dim", "layer_types", "sliding_window",
                            "attention_bias", "mlp_bias", "per_layer_config", "auto_map"})
        json.erase(key);
    ConfigJson blocks = ConfigJson::array();
    for (const LayerSpec& layer : layout.spec.layers) {
        ConfigJson block;
        const bool attention = layer.attention != AttentionKind::none;
        block["attention"] = {{"no_op", !attention},
                              {"n_heads_in_group", attention ? ConfigJson(layer.heads / layer.kvHeads) : ConfigJson()},
                              {"replace_with_linear", false}};
        // The width is int(2 * ffn_mult * hidden / 3), rounded up: half a neuron more does not reach the next multiple.
        const double multiplier = (layer.ffn - 0.5) * 3 / (2.0 * source.hidden);
        block["ffn"] = {{"no_op", layer.ffn == 0},
                        {"ffn_mult", layer.ffn > 0 ? ConfigJson(multiplier) : ConfigJson()},
                        {"replace_with_linear", false}};
        blocks.push_back(block);
    }
    json["block_configs"] = blocks;
    return finished(json);
}

std::string prunedHeadsConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                              const PruningMask& mask, const std::string& type) {
    // transformers 4 subtracts the pruned heads from the number of heads of the dense model.
    ExportLayout dense = layout;
    for (std::size_t i = 0; i < dense.spec.layers.size(); ++i) {
        dense.spec.layers[i].heads = source.layers[i].heads;
        dense.spec.layers[i].kvHeads = source.layers[i].kvHeads;
    }
    ConfigJson json = parsedConfig(compactConfig(config, source, dense, type));
    ConfigJson pruned = ConfigJson::object();
    for (int index = 0; index < mask.layerCount(); ++index) {
        if (source.storedLayer(index) != index)
            continue; // shares the weights of another layer
        ConfigJson heads = ConfigJson::array();
        const std::vector<bool>& kept = mask.layer(index).heads;
        for (std::size_t head = 0; head < kept.size(); ++head)
            if (!kept[head])
                heads.push_back(head);
        if (!heads.empty())
            pruned[std::to_string(index)] = heads;
    }
    json["pruned_heads"] = pruned;
    return finished(json);
}

} // namespace secateur
