#include "backends/formats/hf_config.h"

#include "analysis/base/error.h"
#include "backends/base/json_object.h"
#include "backends/config/architectures.h"
#include "backends/formats/config_check.h"
#include "backends/formats/hub_cache.h"
#include "backends/formats/layer_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr int mostCount = std::numeric_limits<int>::max();

int widthAt(const JsonObject& config, std::string_view key, int otherwise) {
    return static_cast<int>(config.integer(std::string(key), 1, mostWidth).value_or(otherwise));
}

int countAt(const JsonObject& config, std::string_view key, int otherwise) {
    return static_cast<int>(config.integer(std::string(key), 0, mostCount).value_or(otherwise));
}

double positiveAt(const JsonObject& config, std::string_view key, double otherwise) {
    const double value = config.number(std::string(key)).value_or(otherwise);
    if (!(value > 0))
        config.refuse(std::string(key), fmt::format("expected a number above 0, found {}", value));
    return value;
}

double required(const JsonObject& config, const std::string& key) {
    if (!config.number(key))
        config.refuse(key, "is missing");
    return positiveAt(config, key, 1);
}

double switchableAt(const JsonObject& config, std::string_view key, double otherwise) {
    const std::string name(key);
    if (!config.has(name))
        return otherwise;
    return config.number(name) ? positiveAt(config, key, 0) : 0;
}

Activation activationAt(const JsonObject& config, std::string_view key, Activation otherwise) {
    static constexpr std::array known{
        std::pair{std::string_view("silu"), Activation::silu},
        std::pair{std::string_view("swish"), Activation::silu},
        std::pair{std::string_view("gelu"), Activation::geluErf},
        std::pair{std::string_view("gelu_python"), Activation::geluErf},
        std::pair{std::string_view("gelu_new"), Activation::geluTanh},
        std::pair{std::string_view("gelu_fast"), Activation::geluTanh},
        std::pair{std::string_view("gelu_pytorch_tanh"), Activation::geluTanh},
        std::pair{std::string_view("relu"), Activation::relu},
    };
    const auto name = config.text(std::string(key));
    if (!name)
        return otherwise;
    for (const auto& [spelling, activation] : known) {
        if (spelling == *name)
            return activation;
    }
    config.refuse(std::string(key), fmt::format("the activation \"{}\" is unknown", *name));
}

void readScaling(const JsonObject& scaling, RotarySpec& rotary) {
    // The key was "type" before transformers 4.43.
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
        const auto context = scaling.integer("original_max_position_embeddings", 1, mostCount);
        if (!context)
            scaling.refuse("original_max_position_embeddings", "is missing");
        rotary.originalContext = static_cast<int>(*context);
    } else {
        scaling.refuse(
            key, fmt::format("the rotary scaling \"{}\" is unknown; supported are default, linear, llama3", type));
    }
}

const std::string fullAttention = "full_attention";
const std::string slidingAttention = "sliding_attention";

int headDim(const JsonObject& config, const ArchitectureInfo& architecture, int hidden, int heads) {
    // If the key is null, the head size is hidden / heads. If it is absent, the head size is the default of the
    // configuration class.
    const int otherwise = config.has("head_dim") ? 0 : architecture.defaults.headDim;
    const int size = widthAt(config, "head_dim", otherwise);
    return size > 0 ? size : headDimOf(hidden, heads, config.subject());
}

int kvHeads(const JsonObject& config, const ArchitectureInfo& architecture, int heads) {
    const int otherwise = config.has("num_key_value_heads") ? 0 : architecture.defaults.kvHeads;
    return widthAt(config, "num_key_value_heads", otherwise > 0 ? otherwise : heads);
}

/// @param kind value in layer_types for the layers of these rotary positions; rope_parameters may contain an object per
/// kind
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
    auto parameters = config.object("rope_parameters"); // the key of transformers 5
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

/// Whether each layer has a sliding window.
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
                          fmt::format("expected {} types, one per layer, found {}", layers, types->size()));
        for (std::size_t i = 0; i < layers; ++i) {
            local[i] = (*types)[i] == slidingAttention;
            if (!local[i] && (*types)[i] != fullAttention)
                config.refuse("layer_types", fmt::format("the layer type \"{}\" is unknown", (*types)[i]));
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

/// Repeats the layers as ALBERT does. Each application of a layer group runs all layers of the group.
void shareLayers(const JsonObject& config, std::vector<LayerSpec>& layers) {
    const int inner = widthAt(config, "inner_group_num", 1);
    const int groups = widthAt(config, "num_hidden_groups", 1);
    const auto applications = static_cast<int>(layers.size());
    if (groups > applications || std::int64_t{inner} * applications > mostLayers)
        config.refuse("num_hidden_groups",
                      fmt::format("{} groups of {} layers cannot form {} layers", groups, inner, applications));
    std::vector<LayerSpec> all;
    for (int application = 0; application < applications; ++application) {
        // The formula of transformers. The number of applications need not be a multiple of the number of groups.
        const int group = static_cast<int>(application / (static_cast<double>(applications) / groups));
        for (int i = 0; i < inner; ++i) {
            all.push_back(layers[static_cast<std::size_t>(application)]);
            if (const int stored = group * inner + i; stored != static_cast<int>(all.size()) - 1)
                all.back().stored = stored;
        }
    }
    layers = std::move(all);
}

/// Sets what depends on a layer's head size and on whether it has a sliding window.
void readPositions(const JsonObject& config, const ArchitectureInfo& architecture, bool isLocal, LayerSpec& layer) {
    layer.window = isLocal ? layer.window : 0;
    layer.rotary = readRotary(config, architecture, layer.headDim, isLocal ? slidingAttention : fullAttention);
    layer.scoreScale = scoreScale(config, architecture, layer.headDim);
}

std::vector<LayerSpec> readLayers(const JsonObject& config, const ArchitectureInfo& architecture, int hidden) {
    const ConfigDefaults& defaults = architecture.defaults;
    LayerSpec layer;
    layer.heads = widthAt(config, architecture.keys.heads, defaults.heads);
    layer.kvHeads = kvHeads(config, architecture, layer.heads);
    layer.headDim = headDim(config, architecture, hidden, layer.heads);
    layer.ffn = widthAt(config, architecture.keys.ffn, defaults.ffn > 0 ? defaults.ffn : 4 * hidden);
    layer.normsHeads = architecture.normsHeads;
    readBiases(config, architecture, layer);

    const std::string layersKey(architecture.keys.layers);
    const auto count = static_cast<std::size_t>(config.integer(layersKey, 1, mostLayers).value_or(defaults.layers));
    const int window = config.has("sliding_window") ? countAt(config, "sliding_window", 0) : defaults.window;
    const std::vector<bool> local = windowed(config, architecture, count);
    layer.window = window;
    std::vector<LayerSpec> layers(count, layer);
    readBlockConfigs(config, hidden, layers);
    readLayerConfig(config, architecture, layers);
    for (std::size_t i = 0; i < count; ++i)
        readPositions(config, architecture, local[i], layers[i]);
    if (config.flag("scale_attn_by_inverse_layer_idx").value_or(false)) { // GPT-2
        for (std::size_t i = 0; i < count; ++i)
            layers[i].scoreScale /= static_cast<double>(i + 1);
    }
    if (defaults.embeddingWidth > 0)
        shareLayers(config, layers);
    readPrunedHeads(config, layers);
    return layers;
}

constexpr std::size_t longestConfig = 16'000'000;

JsonObject readConfig(const std::string& path) {
    if (!fs::exists(path))
        throw Error("does not exist", path, "Weights need a config.json in the same folder");
    const auto file = MappedFile::open(path);
    const auto bytes = file->bytes();
    if (bytes.size() > longestConfig)
        throw Error(fmt::format("is {} bytes long; the limit is {}", bytes.size(), longestConfig), path);
    return JsonObject::parse(charactersOf(bytes), path);
}

int classesOf(const JsonObject& config) {
    if (const auto labels = config.object("id2label"))
        return static_cast<int>(labels->keys().size());
    return widthAt(config, "num_labels", 2);
}

void readEmbeddings(const JsonObject& config, const ArchitectureInfo& architecture, ModelSpec& spec) {
    const ConfigDefaults& defaults = architecture.defaults;
    spec.vocab = widthAt(config, "vocab_size", defaults.vocab);
    spec.context = countAt(config, architecture.keys.context, defaults.context);
    if (spec.positions == Positions::learned)
        spec.learnedPositions = widthAt(config, architecture.keys.context, defaults.context);
    if (architecture.positionsFollowPadding) {
        spec.firstPosition = countAt(config, "pad_token_id", defaults.padding) + 1;
        spec.context = std::max(spec.context - spec.firstPosition, 0);
    }
    if (architecture.scalesEmbedding)
        spec.embeddingScale = std::sqrt(spec.hidden);
    if (defaults.embeddingWidth > 0)
        spec.embeddingWidth = widthAt(config, "embedding_size", defaults.embeddingWidth);
    if (defaults.tokenTypes > 0)
        spec.tokenTypes = widthAt(config, "type_vocab_size", defaults.tokenTypes);
    spec.tiedEmbeddings =
        spec.family == Family::decoder && config.flag("tie_word_embeddings").value_or(defaults.tiedEmbeddings);
}

ModelSpec readSpec(const JsonObject& config, const ArchitectureInfo& architecture) {
    const ConfigDefaults& defaults = architecture.defaults;
    ModelSpec spec = specOf(architecture);
    spec.hidden = widthAt(config, architecture.keys.hidden, defaults.hidden);
    readEmbeddings(config, architecture, spec);
    spec.normEpsilon = positiveAt(config, architecture.keys.normEpsilon, defaults.normEpsilon);
    spec.activation = activationAt(config, architecture.keys.activation, defaults.activation);
    spec.scoreSoftcap = switchableAt(config, "attn_logit_softcapping", defaults.scoreSoftcap);
    spec.logitSoftcap = switchableAt(config, "final_logit_softcapping", defaults.logitSoftcap);
    spec.layers = readLayers(config, architecture, spec.hidden);
    if (spec.family == Family::encoder)
        spec.classes = classesOf(config);
    if (spec.embeddingWidth > 0)
        spec.layersPerGroup = widthAt(config, "inner_group_num", 1);
    checkLayers(spec, config.subject());
    return spec;
}

/// A model's display name: the name of its file, or of its directory if `path` is a directory or a file "model...". For
/// a snapshot in the hub's cache, the name of the repository.
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

} // namespace

std::string tokenizerFileIn(const std::string& directory) {
    for (const char* name :
         {"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.txt", "vocab.json"}) {
        if (fs::exists(fs::path(directory) / name))
            return name;
    }
    return {};
}

CheckpointDescription describeHf(const std::string& path, const std::string& configPath) {
    const JsonObject config = readConfig(configPath);
    const auto modelType = config.text("model_type");
    if (!modelType)
        config.refuse("model_type", "is missing; it names the architecture");
    if (const auto quantised = config.object("quantization_config"))
        throw Error(fmt::format("describes weights quantised by {}, which is not supported",
                                quantised->text("quant_method").value_or("an unnamed method")),
                    configPath, "Open the unquantised checkpoint or a GGUF file");
    try {
        const ArchitectureInfo& architecture = architectureOfModelType(*modelType);
        const CheckedConfig checked = checkedConfig(config, architecture);
        return {.spec = readSpec(checked.config, architecture),
                .tensors = architecture.hfTensors,
                .prefixes = architecture.prefixes,
                .unused = architecture.unused,
                .name = nameOf(path),
                .tokenizer = tokenizerFileIn(fs::path(configPath).parent_path().string()),
                .warnings = checked.warnings};
    } catch (const Error& error) {
        throw error.subject().empty() ? error.within(configPath) : error;
    }
}

namespace {

/// The file that names the classes: that of an adapter with a classifier of its own, or else the configuration.
fs::path fileOfClasses(const ModelCard& model) {
    if (!model.adapter.empty())
        if (fs::path own = fs::path(model.adapter) / adapterClassesName; fs::exists(own))
            return own;
    const fs::path path = snapshotOf(model.path);
    return (fs::is_directory(path) ? path : path.parent_path()) / "config.json";
}

} // namespace

std::vector<std::string> classNames(const ModelCard& model) {
    const fs::path file = fileOfClasses(model);
    if (model.spec.classes == 0 || !fs::exists(file))
        return {};
    const auto labels = readConfig(file.string()).object("id2label");
    std::vector<std::string> names;
    if (!labels || std::cmp_not_equal(labels->keys().size(), model.spec.classes))
        return names; // those of another classifier
    for (int i = 0; i < model.spec.classes; ++i) {
        const std::string id = std::to_string(i);
        if (!labels->isText(id))
            return {};
        names.push_back(*labels->text(id));
    }
    return names;
}

} // namespace secateur
