#include "backends/export/compact_config.h"

#include "analysis/base/error.h"
#include "backends/config/architectures.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

using FileJson = nlohmann::ordered_json;

const ArchitectureInfo& architectureOf(const ModelSpec& spec) {
    const auto rows = allArchitectures();
    return *std::ranges::find(rows, spec.architecture, &ArchitectureInfo::id);
}

FileJson parsedConfig(const std::string& config) {
    FileJson json = FileJson::parse(config, nullptr, false);
    if (!json.is_object())
        throw Error("is not a JSON object", "config.json");
    return json;
}

/// The object that describes the language model: multimodal checkpoints have it in text_config.
FileJson& languagePart(FileJson& config) {
    const auto nested = config.find("text_config");
    return nested != config.end() && nested->is_object() ? *nested : config;
}

/// Sets the types of attention of the kept layers, where their windows differ or the source lists them.
void setLayerTypes(FileJson& config, const ModelSpec& source, const ExportLayout& layout) {
    const auto hasWindow = [](const LayerSpec& layer) { return layer.window > 0; };
    const bool isMixed =
        std::ranges::any_of(source.layers, hasWindow) && !std::ranges::all_of(source.layers, hasWindow);
    if (!config.contains("layer_types") && !isMixed)
        return;
    FileJson types = FileJson::array();
    for (const LayerSpec& layer : layout.spec.layers)
        types.push_back(hasWindow(layer) ? "sliding_attention" : "full_attention");
    config["layer_types"] = types;
    config.erase("sliding_window_pattern");
    config.erase("_sliding_window_pattern");
}

/// Sets the numbers of heads, and their size where it no longer follows from them.
void setHeads(FileJson& config, const ArchitectureInfo& architecture, const ModelSpec& source, const ModelSpec& spec) {
    const LayerSpec& layer = spec.layers.front();
    const LayerSpec& before = source.layers.front();
    if (layer.heads == before.heads && layer.kvHeads == before.kvHeads)
        return;
    config[std::string(architecture.keys.heads)] = layer.heads;
    config["num_key_value_heads"] = layer.kvHeads;
    config["head_dim"] = layer.headDim;
}

/// Turns the configuration of a Llama model into that of a Mistral model without a window.
void becomeMistral(FileJson& config) {
    config["model_type"] = "mistral";
    config["architectures"] = {"MistralForCausalLM"};
    config["sliding_window"] = nullptr;
    for (const char* key : {"attention_bias", "mlp_bias", "pretraining_tp", "rope_interleaved", "is_llama_config"})
        config.erase(key);
}

void setBiases(FileJson& config, const ModelSpec& source, const ModelSpec& spec) {
    const auto adds = [&](bool LayerSpec::* bias) {
        return std::ranges::any_of(spec.layers, bias) && !std::ranges::any_of(source.layers, bias);
    };
    if (adds(&LayerSpec::outputBias))
        config["attention_bias"] = true;
    if (adds(&LayerSpec::downBias))
        config["mlp_bias"] = true;
}

void setType(FileJson& config, const std::string& type) {
    static constexpr std::array<std::pair<std::string_view, const char*>, 3> names{
        {{"F32", "float32"}, {"F16", "float16"}, {"BF16", "bfloat16"}}};
    const auto found = std::ranges::find(names, type, [](const auto& row) { return row.first; });
    if (found == names.end())
        return;
    config[config.contains("dtype") ? "dtype" : "torch_dtype"] = found->second;
}

} // namespace

std::string compactConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                          const std::string& type) {
    FileJson json = parsedConfig(config);
    FileJson& own = languagePart(json);
    const ArchitectureInfo& architecture = architectureOf(source);
    if (layout.spec.architecture == "mistral" && source.architecture != "mistral")
        becomeMistral(own);
    own[std::string(architecture.keys.layers)] = layout.spec.layerCount();
    setHeads(own, architecture, source, layout.spec);
    if (layout.spec.layers.front().ffn != source.layers.front().ffn)
        own[std::string(architecture.keys.ffn)] = layout.spec.layers.front().ffn;
    setLayerTypes(own, source, layout);
    if (layout.id == "native" || layout.id == "padded") // others state the biases of each layer
        setBiases(own, source, layout.spec);
    setType(json, type);
    return json.dump(2) + "\n";
}

std::string configWithClasses(const std::string& config, const Classes& classes) {
    FileJson json = parsedConfig(config);
    FileJson labels = FileJson::object();
    FileJson indices = FileJson::object();
    for (int i = 0; i < classes.count; ++i) {
        const std::string name =
            classes.names.empty() ? fmt::format("LABEL_{}", i) : classes.names[static_cast<std::size_t>(i)];
        labels[std::to_string(i)] = name;
        indices[name] = i;
    }
    json["id2label"] = labels;
    json["label2id"] = indices;
    json.erase("num_labels");
    json["problem_type"] = "single_label_classification";
    if (!classes.modelClass.empty())
        json["architectures"] = {classes.modelClass};
    return json.dump(2) + "\n";
}

std::string configWithBiases(const std::string& config, bool attention, bool mlp) {
    FileJson json = parsedConfig(config);
    FileJson& own = languagePart(json);
    if (attention)
        own["attention_bias"] = true;
    if (mlp)
        own["mlp_bias"] = true;
    return json.dump(2) + "\n";
}

} // namespace secateur
