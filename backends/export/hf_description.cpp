#include "backends/export/hf_description.h"

#include "analysis/base/error.h"
#include "backends/config/architectures.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

using HfJson = nlohmann::ordered_json;

struct HfClass {
    std::string_view architecture;
    const char* modelType;
    const char* className;
};

constexpr std::array hfClasses{
    HfClass{"llama", "llama", "LlamaForCausalLM"},    HfClass{"mistral", "mistral", "MistralForCausalLM"},
    HfClass{"qwen2", "qwen2", "Qwen2ForCausalLM"},    HfClass{"qwen3", "qwen3", "Qwen3ForCausalLM"},
    HfClass{"gemma2", "gemma2", "Gemma2ForCausalLM"}, HfClass{"gemma3", "gemma3_text", "Gemma3ForCausalLM"},
    HfClass{"phi", "phi", "PhiForCausalLM"},          HfClass{"gpt2", "gpt2", "GPT2LMHeadModel"}};

const char* activationName(Activation activation) {
    switch (activation) {
    case Activation::silu:
        return "silu";
    case Activation::geluTanh:
        return "gelu_pytorch_tanh";
    case Activation::geluErf:
        return "gelu";
    case Activation::relu:
        return "relu";
    }
    return "";
}

HfJson scalingOf(const RotarySpec& rotary) {
    switch (rotary.scaling) {
    case RopeScaling::linear:
        return {{"rope_type", "linear"}, {"factor", rotary.factor}};
    case RopeScaling::llama3:
        return {{"rope_type", "llama3"},
                {"factor", rotary.factor},
                {"low_freq_factor", rotary.lowFrequencyFactor},
                {"high_freq_factor", rotary.highFrequencyFactor},
                {"original_max_position_embeddings", rotary.originalContext}};
    default:
        return nullptr;
    }
}

void setRotary(HfJson& config, const ModelSpec& spec) {
    const auto isWindowed = [](const LayerSpec& layer) { return layer.window > 0; };
    const auto everywhere = std::ranges::find_if_not(spec.layers, isWindowed);
    const RotarySpec& rotary = (everywhere == spec.layers.end() ? spec.layers.front() : *everywhere).rotary;
    if (rotary.scaling == RopeScaling::listed)
        throw Error("has rotary divisors that no formula gives, which transformers cannot state", "rope_freqs.weight");
    config["rope_theta"] = rotary.theta;
    config["rope_scaling"] = scalingOf(rotary);
    if (rotary.dims != spec.layers.front().headDim)
        config["partial_rotary_factor"] = static_cast<double>(rotary.dims) / spec.layers.front().headDim;
}

/// Keys of single architectures.
void setSpecial(HfJson& config, const ArchitectureInfo& architecture, const ModelSpec& spec) {
    const LayerSpec& first = spec.layers.front();
    const auto local = std::ranges::find_if(spec.layers, [](const LayerSpec& layer) { return layer.window > 0; });
    if (spec.architecture.starts_with("gemma")) {
        config["query_pre_attn_scalar"] = std::round(1e6 / (first.scoreScale * first.scoreScale)) / 1e6;
        config["attn_logit_softcapping"] = spec.scoreSoftcap > 0 ? HfJson(spec.scoreSoftcap) : HfJson();
        config["final_logit_softcapping"] = spec.logitSoftcap > 0 ? HfJson(spec.logitSoftcap) : HfJson();
        if (local != spec.layers.end() && spec.architecture == "gemma3")
            config["rope_local_base_freq"] = local->rotary.theta;
        HfJson types = HfJson::array();
        for (const LayerSpec& layer : spec.layers)
            types.push_back(layer.window > 0 ? "sliding_attention" : "full_attention");
        config["layer_types"] = types;
    }
    if (architecture.windows != Windows::none)
        config["sliding_window"] = local == spec.layers.end() ? HfJson() : HfJson(local->window);
    if (spec.architecture.starts_with("qwen"))
        config["use_sliding_window"] = local != spec.layers.end();
    if (spec.architecture == "llama" || spec.architecture == "qwen3")
        config["attention_bias"] = first.outputBias || first.queryBias;
    if (spec.architecture == "llama")
        config["mlp_bias"] = first.upBias;
}

/// Sets the ids of special tokens. Some files state -1 for a token that they do not have.
void setTokens(HfJson& config, const GgufMetadata& metadata, int vocab) {
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    for (const auto& [key, name] : {std::pair{"tokenizer.ggml.bos_token_id", "bos_token_id"},
                                    std::pair{"tokenizer.ggml.eos_token_id", "eos_token_id"},
                                    std::pair{"tokenizer.ggml.padding_token_id", "pad_token_id"}})
        if (const auto id = metadata.integer(key, -1, most); id && *id >= 0 && *id < vocab)
            config[name] = *id;
}

} // namespace

std::string describedForHf(const ModelSpec& spec, const GgufMetadata& metadata) {
    const auto row = std::ranges::find(hfClasses, spec.architecture, &HfClass::architecture);
    if (row == hfClasses.end())
        throw Error(
            fmt::format("has the architecture {}, which has no configuration in transformers", spec.architecture));
    const ArchitectureInfo& architecture = architectureOfModelType(row->modelType);
    const ConfigKeys& keys = architecture.keys;
    const LayerSpec& first = spec.layers.front();
    HfJson config{
        {"architectures", {row->className}},
        {"model_type", row->modelType},
        {"vocab_size", spec.vocab},
        {std::string(keys.hidden), spec.hidden},
        {std::string(keys.layers), spec.layerCount()},
        {std::string(keys.heads), first.heads},
        {std::string(keys.ffn), first.ffn},
        {std::string(keys.activation), activationName(spec.activation)},
        {std::string(keys.normEpsilon), spec.normEpsilon},
        {std::string(keys.context), spec.positions == Positions::learned ? spec.learnedPositions : spec.context},
        {"tie_word_embeddings", spec.tiedEmbeddings}};
    if (spec.positions == Positions::rotary) {
        config["num_key_value_heads"] = first.kvHeads;
        if (spec.architecture != "phi")
            config["head_dim"] = first.headDim;
        setRotary(config, spec);
    }
    setSpecial(config, architecture, spec);
    setTokens(config, metadata, spec.vocab);
    config["torch_dtype"] = "float32";
    return config.dump(2) + "\n";
}

} // namespace secateur
