#include "backends/config/architectures.h"

#include "analysis/base/error.h"
#include "backends/config/tensor_patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

namespace secateur {

namespace {

using Names = std::span<const std::string_view>;

template <typename... Text>
constexpr std::array<std::string_view, sizeof...(Text)> names(Text... texts) {
    return {texts...};
}

constexpr auto llamaName = names("llama");
constexpr auto deciName = names("deci");
constexpr auto nemotronName = names("nemotron-nas");
constexpr auto openElmName = names("openelm");
constexpr auto mistralName = names("mistral");
constexpr auto qwen2Name = names("qwen2");
constexpr auto qwen3Name = names("qwen3");
constexpr auto gemma2Name = names("gemma2");
constexpr auto gemma3Names = names("gemma3_text", "gemma3");
constexpr auto gemma3Gguf = names("gemma3");
constexpr auto phiName = names("phi");
constexpr auto phi2Gguf = names("phi2");
constexpr auto gpt2Name = names("gpt2");
constexpr auto bertName = names("bert");
constexpr auto robertaName = names("roberta");
constexpr auto xlmRobertaName = names("xlm-roberta");
constexpr auto albertName = names("albert");

// Prefixes of tensor names, for "{prefix}". Checkpoints that were saved from a model without its head have no prefix.
constexpr auto modelPrefix = names("model.", "");
constexpr auto gemma3Prefixes = names("model.language_model.", "language_model.model.", "model.", "");
constexpr auto gpt2Prefixes = names("transformer.", "");
constexpr auto bertPrefixes = names("bert.", "");
constexpr auto robertaPrefixes = names("roberta.", "");
constexpr auto albertPrefixes = names("albert.", "");

// Tensors that are not weights. Old exports contain rotary frequencies. GGUF contains their divisors, which
// gguf_config.cpp reads.
constexpr auto rotaryBuffers = names("*rotary_emb.inv_freq", "rope_freqs.weight");
constexpr auto gemma3Unused = names("*rotary_emb.inv_freq", "vision_tower.*", "multi_modal_projector.*",
                                    "model.vision_tower.*", "model.multi_modal_projector.*");
constexpr auto gpt2Unused = names("*.attn.bias", "*.attn.masked_bias");
constexpr auto encoderUnused = names("*.position_ids", "*.token_type_ids", "cls.*", "lm_head.*", "predictions.*",
                                     "sop_classifier.*", "qa_outputs.*");

constexpr ConfigKeys layerNormKeys{.normEpsilon = "layer_norm_eps"};
constexpr ConfigKeys gemmaKeys{.activation = "hidden_activation"};
constexpr ConfigKeys gpt2Keys{.hidden = "n_embd",
                              .ffn = "n_inner",
                              .layers = "n_layer",
                              .heads = "n_head",
                              .context = "n_positions",
                              .normEpsilon = "layer_norm_epsilon",
                              .activation = "activation_function"};

constexpr ConfigDefaults llamaDefaults{.vocab = 32000,
                                       .hidden = 4096,
                                       .ffn = 11008,
                                       .layers = 32,
                                       .heads = 32,
                                       .activation = Activation::silu,
                                       .normEpsilon = 1e-6,
                                       .context = 2048,
                                       .ropeTheta = 1e4};

constexpr ConfigDefaults mistralDefaults{.vocab = 32000,
                                         .hidden = 4096,
                                         .ffn = 14336,
                                         .layers = 32,
                                         .heads = 32,
                                         .kvHeads = 8,
                                         .activation = Activation::silu,
                                         .normEpsilon = 1e-6,
                                         .context = 131072,
                                         .ropeTheta = 1e4,
                                         .window = 4096};

constexpr ConfigDefaults qwenDefaults(int headDim) {
    return {.vocab = 151936,
            .hidden = 4096,
            .ffn = 22016,
            .layers = 32,
            .heads = 32,
            .kvHeads = 32,
            .headDim = headDim,
            .activation = Activation::silu,
            .normEpsilon = 1e-6,
            .context = 32768,
            .ropeTheta = 1e4,
            .window = 4096};
}

constexpr ConfigDefaults gemma2Defaults{.vocab = 256000,
                                        .hidden = 2304,
                                        .ffn = 9216,
                                        .layers = 26,
                                        .heads = 8,
                                        .kvHeads = 4,
                                        .headDim = 256,
                                        .activation = Activation::geluTanh,
                                        .normEpsilon = 1e-6,
                                        .context = 8192,
                                        .ropeTheta = 1e4,
                                        .window = 4096,
                                        .queryScalar = 256,
                                        .scoreSoftcap = 50,
                                        .logitSoftcap = 30,
                                        .tiedEmbeddings = true};

constexpr ConfigDefaults gemma3Defaults{.vocab = 262208,
                                        .hidden = 2304,
                                        .ffn = 9216,
                                        .layers = 26,
                                        .heads = 8,
                                        .kvHeads = 4,
                                        .headDim = 256,
                                        .activation = Activation::geluTanh,
                                        .normEpsilon = 1e-6,
                                        .context = 131072,
                                        .ropeTheta = 1e6,
                                        .window = 4096,
                                        .queryScalar = 256,
                                        .tiedEmbeddings = true};

constexpr ConfigDefaults phiDefaults{.vocab = 51200,
                                     .hidden = 2048,
                                     .ffn = 8192,
                                     .layers = 24,
                                     .heads = 32,
                                     .activation = Activation::geluTanh,
                                     .normEpsilon = 1e-5,
                                     .context = 2048,
                                     .ropeTheta = 1e4,
                                     .rotaryShare = 0.5};

constexpr ConfigDefaults gpt2Defaults{.vocab = 50257,
                                      .hidden = 768,
                                      .ffn = 0,
                                      .layers = 12,
                                      .heads = 12,
                                      .activation = Activation::geluTanh,
                                      .normEpsilon = 1e-5,
                                      .context = 1024,
                                      .tiedEmbeddings = true};

constexpr ConfigDefaults bertDefaults(int vocab, int padding) {
    return {.vocab = vocab,
            .hidden = 768,
            .ffn = 3072,
            .layers = 12,
            .heads = 12,
            .activation = Activation::geluErf,
            .normEpsilon = 1e-12,
            .context = 512,
            .tokenTypes = 2,
            .padding = padding};
}

constexpr ConfigDefaults albertDefaults{.vocab = 30000,
                                        .hidden = 4096,
                                        .ffn = 16384,
                                        .layers = 12,
                                        .heads = 64,
                                        .activation = Activation::geluTanh,
                                        .normEpsilon = 1e-12,
                                        .context = 512,
                                        .tokenTypes = 2,
                                        .embeddingWidth = 128};

ArchitectureInfo llamaFamily(std::string_view id, std::string_view summary, const ConfigDefaults& defaults) {
    return {.id = id,
            .summary = summary,
            .defaults = defaults,
            .prefixes = modelPrefix,
            .hfTensors = llamaTensors(),
            .unused = rotaryBuffers};
}

ArchitectureInfo llama() {
    ArchitectureInfo info =
        llamaFamily("llama", "LLaMA 1 to 3.2, Vicuna, SmolLM2; in GGUF also Mistral", llamaDefaults);
    info.modelTypes = info.ggufNames = llamaName;
    info.configKeys = llamaConfigKeys();
    info.biases = Biases::byKey;
    info.ggufPairsRotaryRows = true;
    return info;
}

ArchitectureInfo deci() {
    ArchitectureInfo info = llamaFamily("deci", "DeciLM and Nemotron-NAS: layers of different shapes", llamaDefaults);
    info.modelTypes = nemotronName;
    info.ggufNames = deciName;
    info.configKeys = deciConfigKeys();
    info.biases = Biases::byKey;
    info.hfTensors = deciTensors();
    info.ggufPairsRotaryRows = true;
    return info;
}

ArchitectureInfo openElm() {
    ArchitectureInfo info = llamaFamily("openelm", "OpenELM: layers of different shapes, GGUF only", llamaDefaults);
    info.ggufNames = openElmName;
    info.hfTensors = {};
    info.normsHeads = true;
    return info;
}

ArchitectureInfo mistral() {
    ArchitectureInfo info = llamaFamily("mistral", "Mistral 7B", mistralDefaults);
    info.modelTypes = mistralName;
    info.configKeys = mistralConfigKeys();
    info.windows = Windows::all;
    return info;
}

ArchitectureInfo qwen2() {
    ArchitectureInfo info = llamaFamily("qwen2", "Qwen1.5 to Qwen2.5", qwenDefaults(0));
    info.modelTypes = info.ggufNames = qwen2Name;
    info.configKeys = qwen2ConfigKeys();
    info.windows = Windows::fromMaxWindowLayers;
    info.biases = Biases::queryKeyValue;
    return info;
}

ArchitectureInfo qwen3() {
    ArchitectureInfo info = llamaFamily("qwen3", "Qwen3, dense", qwenDefaults(128));
    info.modelTypes = info.ggufNames = qwen3Name;
    info.configKeys = qwen3ConfigKeys();
    info.windows = Windows::fromMaxWindowLayers;
    info.biases = Biases::byKey;
    info.normsHeads = true;
    return info;
}

ArchitectureInfo gemma(std::string_view id, std::string_view summary, const ConfigDefaults& defaults) {
    ArchitectureInfo info = llamaFamily(id, summary, defaults);
    info.keys = gemmaKeys;
    info.normPlace = NormPlace::sandwich;
    info.normWeightOffset = 1;
    info.scalesEmbedding = true;
    info.biases = Biases::byKey;
    info.hfTensors = gemmaTensors();
    info.ggufAddsOneToNorms = true;
    return info;
}

ArchitectureInfo gemma2() {
    ArchitectureInfo info = gemma("gemma2", "Gemma 2", gemma2Defaults);
    info.modelTypes = info.ggufNames = gemma2Name;
    info.configKeys = gemma2ConfigKeys();
    info.ggufKeys = gemma2GgufKeys();
    info.windows = Windows::evenLayers;
    return info;
}

ArchitectureInfo gemma3() {
    ArchitectureInfo info = gemma("gemma3", "Gemma 3, and the text part of its multimodal checkpoints", gemma3Defaults);
    info.modelTypes = gemma3Names;
    info.ggufNames = gemma3Gguf;
    info.configKeys = gemma3ConfigKeys();
    info.ggufKeys = gemma3GgufKeys();
    info.normsHeads = true;
    info.localRotary = true;
    info.windows = Windows::fiveOfSix;
    info.prefixes = gemma3Prefixes;
    info.unused = gemma3Unused;
    return info;
}

ArchitectureInfo phi() {
    return {.id = "phi",
            .summary = "Phi-1, Phi-1.5, Phi-2",
            .modelTypes = phiName,
            .ggufNames = phi2Gguf,
            .keys = layerNormKeys,
            .configKeys = phiConfigKeys(),
            .defaults = phiDefaults,
            .norm = NormKind::layer,
            .normPlace = NormPlace::parallel,
            .gatedMlp = false,
            .biases = Biases::all,
            .lmHeadBias = true,
            .prefixes = modelPrefix,
            .hfTensors = phiTensors(),
            .unused = rotaryBuffers};
}

ArchitectureInfo gpt2() {
    return {.id = "gpt2",
            .summary = "GPT-2, DistilGPT-2",
            .modelTypes = gpt2Name,
            .ggufNames = gpt2Name,
            .keys = gpt2Keys,
            .configKeys = gpt2ConfigKeys(),
            .defaults = gpt2Defaults,
            .norm = NormKind::layer,
            .gatedMlp = false,
            .positions = Positions::learned,
            .biases = Biases::all,
            .prefixes = gpt2Prefixes,
            .hfTensors = gpt2Tensors(),
            .unused = gpt2Unused};
}

ArchitectureInfo encoder(std::string_view id, std::string_view summary, Names modelTypes, Names prefixes,
                         const ConfigKeyLists& configKeys, const ConfigDefaults& defaults) {
    return {.id = id,
            .summary = summary,
            .family = Family::encoder,
            .modelTypes = modelTypes,
            .keys = layerNormKeys,
            .configKeys = configKeys,
            .ggufKeys = encoderGgufKeys(),
            .defaults = defaults,
            .norm = NormKind::layer,
            .normPlace = NormPlace::after,
            .gatedMlp = false,
            .positions = Positions::learned,
            .biases = Biases::all,
            .prefixes = prefixes,
            .hfTensors = bertTensors(),
            .unused = encoderUnused};
}

ArchitectureInfo bert() {
    ArchitectureInfo info = encoder("bert", "BERT, MiniLM, BGE; in GGUF also RoBERTa and XLM-R", bertName, bertPrefixes,
                                    bertConfigKeys(), bertDefaults(30522, 0));
    info.ggufNames = bertName;
    return info;
}

ArchitectureInfo roberta(std::string_view id, std::string_view summary, Names modelTypes, int vocab) {
    ArchitectureInfo info =
        encoder(id, summary, modelTypes, robertaPrefixes, robertaConfigKeys(), bertDefaults(vocab, 1));
    info.positionsFollowPadding = true;
    return info;
}

ArchitectureInfo albert() {
    ArchitectureInfo info = encoder("albert", "ALBERT: layers that share stored weights", albertName, albertPrefixes,
                                    albertConfigKeys(), albertDefaults);
    info.hfTensors = albertTensors();
    return info;
}

const std::vector<ArchitectureInfo>& table() {
    static const std::vector rows{llama(),
                                  mistral(),
                                  qwen2(),
                                  qwen3(),
                                  gemma2(),
                                  gemma3(),
                                  phi(),
                                  gpt2(),
                                  deci(),
                                  openElm(),
                                  bert(),
                                  roberta("roberta", "RoBERTa", robertaName, 50265),
                                  roberta("xlm-roberta", "XLM-RoBERTa", xlmRobertaName, 30522),
                                  albert()};
    return rows;
}

/// nullptr if no row has this name
const ArchitectureInfo* search(std::string_view name, Names ArchitectureInfo::*spellings) {
    const auto found = std::ranges::find_if(table(), [&](const ArchitectureInfo& info) {
        return std::ranges::find(info.*spellings, name) != (info.*spellings).end();
    });
    return found != table().end() ? &*found : nullptr;
}

const ArchitectureInfo& find(const std::string& name, Names ArchitectureInfo::*spellings) {
    if (const ArchitectureInfo* found = search(name, spellings))
        return *found;
    std::vector<std::string_view> known;
    for (const ArchitectureInfo& info : table())
        known.insert(known.end(), (info.*spellings).begin(), (info.*spellings).end());
    throw Error(fmt::format("has the unknown architecture \"{}\"", name), {},
                fmt::format("Supported architectures: {}", fmt::join(known, ", ")));
}

} // namespace

std::span<const ArchitectureInfo> allArchitectures() {
    return table();
}

const ArchitectureInfo& architectureOfModelType(const std::string& modelType) {
    constexpr std::string_view own = "secateur_";
    if (modelType.starts_with(own)) {
        const std::string name = modelType.substr(own.size());
        if (const ArchitectureInfo* found = search(name, &ArchitectureInfo::modelTypes))
            return *found;
    }
    return find(modelType, &ArchitectureInfo::modelTypes);
}

const ArchitectureInfo& architectureOfGguf(const std::string& name) {
    return find(name, &ArchitectureInfo::ggufNames);
}

ModelSpec specOf(const ArchitectureInfo& architecture) {
    ModelSpec spec;
    spec.architecture = architecture.id;
    spec.family = architecture.family;
    spec.norm = architecture.norm;
    spec.normPlace = architecture.normPlace;
    spec.normWeightOffset = architecture.normWeightOffset;
    spec.activation = architecture.defaults.activation;
    spec.gatedMlp = architecture.gatedMlp;
    spec.lmHeadBias = architecture.lmHeadBias;
    spec.positions = architecture.positions;
    return spec;
}

int headDimOf(int hidden, int heads, const std::string& subject) {
    if (heads < 1 || hidden % heads != 0)
        throw Error(
            fmt::format("gives no head size, and the hidden size {} is not divisible by {} heads", hidden, heads),
            subject);
    return hidden / heads;
}

void checkLayers(const ModelSpec& spec, const std::string& subject) {
    for (int index = 0; index < spec.layerCount(); ++index) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
        if (layer.attention == AttentionKind::none || layer.attention == AttentionKind::linear)
            continue;
        const bool hasNoHeads = layer.heads == 0 && layer.kvHeads == 0; // all heads of the layer were pruned
        if (!hasNoHeads && (layer.kvHeads < 1 || layer.heads % layer.kvHeads != 0))
            throw Error(fmt::format("layer {} has {} heads, not a multiple of its {} KV heads", index, layer.heads,
                                    layer.kvHeads),
                        subject);
        if (layer.rotary.dims > layer.headDim)
            throw Error(fmt::format("layer {} rotates {} dimensions of heads that have {}", index, layer.rotary.dims,
                                    layer.headDim),
                        subject);
        if (layer.rotary.dims % 2 != 0)
            throw Error(fmt::format("layer {} has {} rotary dimensions, an odd number", index, layer.rotary.dims),
                        subject);
    }
}

} // namespace secateur
