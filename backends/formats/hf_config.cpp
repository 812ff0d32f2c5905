#include "backends/formats/hf_config.h"

#include "analysis/base/error.h"
#include "backends/config/architectures.h"
#include "backends/formats/config_keys.h"
#include "backends/formats/hf_layers.h"
#include "backends/formats/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

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

/// What this program does not do, by the key that asks for it.
void refuseOthers(const JsonObject& config, Family family) {
    const auto refuseWhere = [&](const char* key, const char* why) {
        if (config.flag(key).value_or(false))
            config.refuse(key, why);
    };
    refuseWhere("is_encoder_decoder", "models of an encoder and a decoder are not read");
    refuseWhere("add_cross_attention", "cross-attention is not read");
    refuseWhere("qk_layernorm", "norms of queries and keys are not read in this architecture");
    if (family == Family::encoder)
        refuseWhere("is_decoder", "an encoder turned into a decoder is not read");
    const std::string positions = config.text("position_embedding_type").value_or("absolute");
    if (positions != "absolute")
        config.refuse("position_embedding_type", fmt::format("\"{}\" is not read, only \"absolute\"", positions));
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
    refuseOthers(config, spec.family);
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
    for (const char* name :
         {"tokenizer.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "vocab.txt", "vocab.json"}) {
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
        // Multimodal checkpoints describe their language model apart.
        const auto text = config.object("text_config");
        return {.spec = readSpec(text ? *text : config, architecture),
                .tensors = architecture.hfTensors,
                .prefixes = architecture.prefixes,
                .unused = architecture.unused,
                .name = nameOf(path),
                .tokenizer = tokenizerBeside(fs::path(configPath).parent_path())};
    } catch (const Error& error) {
        throw error.subject().empty() ? error.within(configPath) : error;
    }
}

std::vector<std::string> classNames(const ModelCard& model) {
    const fs::path path = snapshotOf(model.path);
    const fs::path config = (fs::is_directory(path) ? path : path.parent_path()) / "config.json";
    if (model.spec.classes == 0 || !fs::exists(config))
        return {};
    const auto labels = readConfig(config.string()).object("id2label");
    std::vector<std::string> names;
    for (int i = 0; labels && i < model.spec.classes; ++i) {
        const std::string id = std::to_string(i);
        if (!labels->isText(id))
            return {};
        names.push_back(*labels->text(id));
    }
    return names;
}

} // namespace secateur
