#include "backends/hf_config.h"

#include "analysis/error.h"
#include "backends/architectures.h"
#include "backends/json_object.h"
#include "backends/spec_checks.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <limits>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t longestConfig = 16'000'000;

JsonObject readConfig(const std::string& path) {
    if (!fs::exists(path))
        throw Error("does not exist", path, "Weights are read with the config.json that lies beside them");
    const auto file = MappedFile::open(path);
    const auto bytes = file->bytes();
    if (bytes.size() > longestConfig)
        throw Error(fmt::format("is {} bytes long; at most {} are read", bytes.size(), longestConfig), path);
    return JsonObject::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

int width(const JsonObject& config, const std::string& key, int otherwise) {
    return static_cast<int>(config.integer(key, 1, mostWidth).value_or(otherwise));
}

Activation activationOf(const JsonObject& config, const std::string& key, Activation otherwise) {
    static constexpr std::array known{
        std::pair{std::string_view("silu"), Activation::silu},
        std::pair{std::string_view("swish"), Activation::silu},
        std::pair{std::string_view("gelu"), Activation::geluErf},
        std::pair{std::string_view("gelu_new"), Activation::geluTanh},
        std::pair{std::string_view("gelu_pytorch_tanh"), Activation::geluTanh},
        std::pair{std::string_view("relu"), Activation::relu},
    };
    const auto name = config.text(key);
    if (!name)
        return otherwise;
    for (const auto& [spelling, activation] : known) {
        if (spelling == *name)
            return activation;
    }
    config.refuse(key, fmt::format("the activation \"{}\" is not known", *name));
}

double positive(const JsonObject& config, const std::string& key, double otherwise) {
    const double value = config.number(key).value_or(otherwise);
    if (!(value > 0))
        config.refuse(key, fmt::format("expected a number above 0, found {}", value));
    return value;
}

double required(const JsonObject& config, const std::string& key) {
    if (!config.number(key))
        config.refuse(key, "is missing");
    return positive(config, key, 1);
}

void readScaling(const JsonObject& scaling, RotarySpec& rotary) {
    constexpr int longest = std::numeric_limits<int>::max();
    // Before transformers 4.43 the key was "type".
    const std::string key = scaling.has("rope_type") ? "rope_type" : "type";
    const std::string type = scaling.text(key).value_or("default");
    if (type == "default")
        return;
    rotary.factor = required(scaling, "factor");
    if (type == "linear") {
        rotary.scaling = RopeScaling::linear;
    } else if (type == "llama3") {
        rotary.scaling = RopeScaling::llama3;
        rotary.lowFrequencyFactor = required(scaling, "low_freq_factor");
        rotary.highFrequencyFactor = required(scaling, "high_freq_factor");
        const auto context = scaling.integer("original_max_position_embeddings", 1, longest);
        if (!context)
            scaling.refuse("original_max_position_embeddings", "is missing");
        rotary.originalContext = static_cast<int>(*context);
    } else {
        scaling.refuse(key,
                       fmt::format("the rotary scaling \"{}\" is not known; known are default, linear, llama3", type));
    }
}

RotarySpec readRotary(const JsonObject& config, int headDim, double defaultTheta) {
    RotarySpec rotary;
    rotary.dims = headDim;
    rotary.theta = positive(config, "rope_theta", defaultTheta);
    if (const auto scaling = config.object("rope_scaling"))
        readScaling(*scaling, rotary);
    if (const auto parameters = config.object("rope_parameters")) { // transformers 5
        rotary.theta = positive(*parameters, "rope_theta", rotary.theta);
        readScaling(*parameters, rotary);
    }
    return rotary;
}

int windowOf(const JsonObject& config, const ConfigDefaults& defaults) {
    if (!defaults.window || !config.has("sliding_window"))
        return defaults.window.value_or(0);
    const auto window = config.integer("sliding_window", 0, std::numeric_limits<int>::max());
    return static_cast<int>(window.value_or(0));
}

LayerSpec readLayer(const JsonObject& config, const ConfigDefaults& defaults, int hidden) {
    LayerSpec layer;
    layer.heads = width(config, "num_attention_heads", defaults.heads);
    layer.kvHeads = width(config, "num_key_value_heads", defaults.kvHeads > 0 ? defaults.kvHeads : layer.heads);
    layer.headDim = width(config, "head_dim", defaults.headDim);
    if (layer.headDim == 0)
        layer.headDim = headDimOf(hidden, layer.heads, config.subject());
    layer.ffn = width(config, "intermediate_size", defaults.ffn);
    layer.window = windowOf(config, defaults);
    layer.rotary = readRotary(config, layer.headDim, defaults.ropeTheta);
    const bool bias = config.flag("attention_bias").value_or(false);
    layer.queryBias = layer.keyBias = layer.valueBias = layer.outputBias = bias;
    layer.mlpBias = config.flag("mlp_bias").value_or(false);
    return layer;
}

ModelSpec readSpec(const JsonObject& config, const ArchitectureInfo& architecture) {
    const ConfigDefaults& defaults = architecture.defaults;
    ModelSpec spec;
    spec.architecture = architecture.id;
    spec.family = architecture.family;
    spec.norm = architecture.norm;
    spec.normWeightOffset = architecture.normWeightOffset;
    spec.gatedMlp = architecture.gatedMlp;
    spec.hidden = width(config, "hidden_size", defaults.hidden);
    spec.vocab = width(config, "vocab_size", defaults.vocab);
    spec.context = static_cast<int>(
        config.integer("max_position_embeddings", 0, std::numeric_limits<int>::max()).value_or(defaults.context));
    spec.normEpsilon = positive(config, "rms_norm_eps", defaults.normEpsilon);
    spec.activation = activationOf(config, "hidden_act", defaults.activation);
    spec.tiedEmbeddings = config.flag("tie_word_embeddings").value_or(defaults.tiedEmbeddings);
    const auto layers = config.integer("num_hidden_layers", 1, mostLayers).value_or(defaults.layers);
    spec.layers.assign(static_cast<std::size_t>(layers), readLayer(config, defaults, spec.hidden));
    checkLayers(spec, config.subject());
    return spec;
}

/// The directory's name, as files in it are all called model; in the hub's cache, where it is a hash, the repository's.
std::string nameOf(const fs::path& path) {
    const bool isDirectory = fs::is_directory(path);
    if (const std::string stem = path.stem().string(); !isDirectory && !stem.starts_with("model"))
        return stem;
    const fs::path absolute = fs::absolute(path).lexically_normal();
    fs::path directory = isDirectory ? absolute : absolute.parent_path();
    if (!directory.has_filename())
        directory = directory.parent_path();
    const std::string repository = directory.parent_path().parent_path().filename().string();
    if (directory.parent_path().filename() == "snapshots" && repository.starts_with("models--"))
        return repository.substr(repository.rfind("--") + 2);
    return directory.filename().string();
}

std::string tokenizerBeside(const fs::path& directory) {
    for (const char* name : {"tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt"}) {
        if (fs::exists(directory / name))
            return name;
    }
    return {};
}

} // namespace

CheckpointDescription describeHf(const std::string& path, const std::string& configPath) {
    const JsonObject config = readConfig(configPath);
    const auto modelType = config.text("model_type");
    if (!modelType)
        config.refuse("model_type", "is missing, so the architecture is not known");
    if (const auto quantised = config.object("quantization_config"))
        throw Error(fmt::format("says that the weights are quantised by {}, which cannot be read",
                                quantised->text("quant_method").value_or("a method it does not name")),
                    configPath, "Open the unquantised checkpoint or a GGUF file");
    try {
        const ArchitectureInfo& architecture = architectureOfModelType(*modelType);
        return {.architecture = &architecture,
                .tensors = architecture.hfTensors,
                .spec = readSpec(config, architecture),
                .name = nameOf(path),
                .tokenizer = tokenizerBeside(fs::path(configPath).parent_path()),
                .pairsRotaryRows = false};
    } catch (const Error& error) {
        throw error.subject().empty() ? error.within(configPath) : error;
    }
}

} // namespace secateur
