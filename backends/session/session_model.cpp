#include "backends/session/session_parts.h"

#include "analysis/base/error.h"
#include "backends/config/architectures.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

using hdf5::Handle;

/// A numeric field of a model or a layer, with its name in the file.
template <typename Owner, typename Value>
struct Field {
    const char* name;
    Value& (*get)(Owner&);
    std::int64_t since = 1; ///< first version of the format that has this field
};

#define FIELD(Owner, Value, name, member, ...)                                                                         \
    Field<Owner, Value> {                                                                                              \
        name, [](Owner& owner) -> Value& { return owner.member; }, ##__VA_ARGS__                                       \
    }
constexpr std::array layerIntegers{
    FIELD(LayerSpec, int, "heads", heads),
    FIELD(LayerSpec, int, "kv_heads", kvHeads),
    FIELD(LayerSpec, int, "head_dim", headDim),
    FIELD(LayerSpec, int, "ffn", ffn),
    FIELD(LayerSpec, int, "window", window),
    FIELD(LayerSpec, int, "rotary_dims", rotary.dims),
    FIELD(LayerSpec, int, "rope_original_context", rotary.originalContext),
    FIELD(LayerSpec, int, "stored_layer", stored, 2),
};
constexpr std::array layerNumbers{
    FIELD(LayerSpec, double, "alpha", alpha),
    FIELD(LayerSpec, double, "rope_theta", rotary.theta),
    FIELD(LayerSpec, double, "rope_factor", rotary.factor),
    FIELD(LayerSpec, double, "rope_low_frequency_factor", rotary.lowFrequencyFactor),
    FIELD(LayerSpec, double, "rope_high_frequency_factor", rotary.highFrequencyFactor),
    FIELD(LayerSpec, double, "score_scale", scoreScale, 2),
};
constexpr std::array layerFlags{
    FIELD(LayerSpec, bool, "query_bias", queryBias),  FIELD(LayerSpec, bool, "key_bias", keyBias),
    FIELD(LayerSpec, bool, "value_bias", valueBias),  FIELD(LayerSpec, bool, "output_bias", outputBias),
    FIELD(LayerSpec, bool, "gate_bias", gateBias, 2), FIELD(LayerSpec, bool, "up_bias", upBias, 2),
    FIELD(LayerSpec, bool, "down_bias", downBias, 2), FIELD(LayerSpec, bool, "norms_heads", normsHeads, 2),
};
constexpr std::array modelIntegers{
    FIELD(ModelSpec, int, "hidden", hidden),
    FIELD(ModelSpec, int, "vocab", vocab),
    FIELD(ModelSpec, int, "context", context),
    FIELD(ModelSpec, int, "embedding_width", embeddingWidth, 2),
    FIELD(ModelSpec, int, "first_position", firstPosition, 2),
    FIELD(ModelSpec, int, "learned_positions", learnedPositions, 2),
    FIELD(ModelSpec, int, "token_types", tokenTypes, 2),
    FIELD(ModelSpec, int, "classes", classes, 2),
    FIELD(ModelSpec, int, "layers_per_group", layersPerGroup, 2),
};
constexpr std::array modelNumbers{
    FIELD(ModelSpec, double, "norm_epsilon", normEpsilon),
    FIELD(ModelSpec, double, "norm_weight_offset", normWeightOffset),
    FIELD(ModelSpec, double, "embedding_scale", embeddingScale, 2),
    FIELD(ModelSpec, double, "score_softcap", scoreSoftcap, 2),
    FIELD(ModelSpec, double, "logit_softcap", logitSoftcap, 2),
};
constexpr std::array modelFlags{
    FIELD(ModelSpec, bool, "gated_mlp", gatedMlp),
    FIELD(ModelSpec, bool, "tied_embeddings", tiedEmbeddings),
    FIELD(ModelSpec, bool, "read_out_bias", lmHeadBias, 2),
};
#undef FIELD

constexpr std::array attentionNames{"full", "none", "value_only", "linear"};
constexpr std::array scalingNames{"none", "linear", "llama3", "listed"};
constexpr std::array familyNames{"decoder", "encoder"};
constexpr std::array normNames{"rms", "layer"};
constexpr std::array normPlaceNames{"before", "around", "parallel", "after"};
constexpr std::array positionNames{"rotary", "learned"};
constexpr std::array activationNames{"silu", "gelu_tanh", "gelu_erf", "relu"};

/// Reads the value of an enumeration, which is stored as a name. @param names in the order of the declaration
template <typename Enum, std::size_t count>
Enum fromName(const std::array<const char*, count>& names, const std::string& text, const std::string& field) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
        throw Error(fmt::format("holds the unknown value \"{}\"", text), field);
    return static_cast<Enum>(found - names.begin());
}

template <typename Enum, std::size_t count>
const char* toName(const std::array<const char*, count>& names, Enum value) {
    return names.at(static_cast<std::size_t>(value));
}

void writeLayers(const Handle& group, std::vector<LayerSpec> layers) {
    const auto gather = [&](auto get, auto list) {
        for (LayerSpec& layer : layers)
            list.push_back(get(layer));
        return list;
    };
    for (const auto& field : layerIntegers)
        hdf5::writeIntegers(group, field.name, gather(field.get, std::vector<std::int64_t>()));
    for (const auto& field : layerNumbers)
        hdf5::writeNumbers(group, field.name, gather(field.get, std::vector<double>()));
    for (const auto& field : layerFlags)
        hdf5::writeIntegers(group, field.name, gather(field.get, std::vector<std::int64_t>()));
    hdf5::writeTexts(
        group, "attention",
        gather([](const LayerSpec& l) { return toName(attentionNames, l.attention); }, std::vector<std::string>()));
    hdf5::writeTexts(
        group, "rope_scaling",
        gather([](const LayerSpec& l) { return toName(scalingNames, l.rotary.scaling); }, std::vector<std::string>()));
}

template <typename Values>
Values sized(Values values, std::size_t count, const std::string& name) {
    if (values.size() != count)
        throw Error(fmt::format("should hold a value for each of {} layers and holds {}", count, values.size()), name);
    return values;
}

int smallCount(std::int64_t value, const std::string& name, std::int64_t most = mostWidth) {
    if (value < 0 || value > most)
        throw Error(fmt::format("cannot be {}", value), name);
    return static_cast<int>(value);
}

/// Sets fields that version 1 did not have. All models of version 1 had rotary positions as in Llama.
void completeFirstVersion(const Handle& group, std::vector<LayerSpec>& layers) {
    const auto biases = sized(hdf5::readIntegers(group, "mlp_bias"), layers.size(), "mlp_bias");
    for (std::size_t i = 0; i < layers.size(); ++i) {
        LayerSpec& layer = layers[i];
        layer.gateBias = layer.upBias = layer.downBias = biases[i] != 0;
        if (layer.headDim > 0)
            layer.scoreScale = 1 / std::sqrt(layer.headDim);
    }
}

/// @param version version of the session format
std::vector<LayerSpec> readLayerSpecs(const Handle& group, std::int64_t version) {
    const int count = smallCount(hdf5::readInteger(group, "layers"), "layers", mostLayers);
    std::vector<LayerSpec> layers(static_cast<std::size_t>(count));
    const auto each = [&](const auto& values, auto set) {
        for (std::size_t i = 0; i < layers.size(); ++i)
            set(layers[i], values[i]);
    };
    for (const auto& field : layerIntegers)
        if (field.since <= version)
            each(sized(hdf5::readIntegers(group, field.name), layers.size(), field.name),
                 [&](LayerSpec& layer, std::int64_t value) { field.get(layer) = smallCount(value, field.name); });
    for (const auto& field : layerNumbers)
        if (field.since <= version)
            each(sized(hdf5::readNumbers(group, field.name), layers.size(), field.name),
                 [&](LayerSpec& layer, double value) { field.get(layer) = value; });
    for (const auto& field : layerFlags)
        if (field.since <= version)
            each(sized(hdf5::readIntegers(group, field.name), layers.size(), field.name),
                 [&](LayerSpec& layer, std::int64_t value) { field.get(layer) = value != 0; });
    each(sized(hdf5::readTexts(group, "attention"), layers.size(), "attention"),
         [](LayerSpec& layer, const std::string& text) {
             layer.attention = fromName<AttentionKind>(attentionNames, text, "attention");
         });
    each(sized(hdf5::readTexts(group, "rope_scaling"), layers.size(), "rope_scaling"),
         [](LayerSpec& layer, const std::string& text) {
             layer.rotary.scaling = fromName<RopeScaling>(scalingNames, text, "rope_scaling");
         });
    for (std::size_t i = 0; i < layers.size(); ++i)
        if (layers[i].stored == static_cast<int>(i))
            layers[i].stored = -1; // -1 = the layer has weights of its own
    if (version < 2)
        completeFirstVersion(group, layers);
    return layers;
}

} // namespace

void writeModelCard(const Handle& group, const ModelCard& card) {
    ModelSpec spec = card.spec;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        spec.layers[static_cast<std::size_t>(layer)].stored = card.spec.storedLayer(layer);
    hdf5::writeText(group, "path", card.path);
    hdf5::writeText(group, "format", card.format);
    hdf5::writeText(group, "name", card.name);
    hdf5::writeText(group, "architecture", spec.architecture);
    hdf5::writeText(group, "family", toName(familyNames, spec.family));
    hdf5::writeText(group, "structure", spec.structure());
    hdf5::writeInteger(group, "layers", spec.layerCount());
    hdf5::writeText(group, "norm", toName(normNames, spec.norm));
    hdf5::writeText(group, "norm_place", toName(normPlaceNames, spec.normPlace));
    hdf5::writeText(group, "positions", toName(positionNames, spec.positions));
    hdf5::writeText(group, "activation", toName(activationNames, spec.activation));
    for (const auto& field : modelIntegers)
        hdf5::writeInteger(group, field.name, field.get(spec));
    for (const auto& field : modelNumbers)
        hdf5::writeNumber(group, field.name, field.get(spec));
    for (const auto& field : modelFlags)
        hdf5::writeInteger(group, field.name, field.get(spec) ? 1 : 0);
    hdf5::writeInteger(group, "parameters", card.parameters);
    hdf5::writeInteger(group, "bytes", card.bytes);
    hdf5::writeText(group, "dtype", card.dtype);
    hdf5::writeText(group, "tokenizer", card.tokenizer);
    hdf5::writeText(group, "fingerprint", card.fingerprint);
    hdf5::writeTexts(group, "warnings", card.warnings);
    writeLayers(group, spec.layers);
}

ModelCard readModelCard(const Handle& group, std::int64_t version) {
    ModelCard card;
    ModelSpec& spec = card.spec;
    card.path = hdf5::readText(group, "path");
    card.format = hdf5::readText(group, "format");
    card.name = hdf5::readText(group, "name");
    spec.architecture = hdf5::readText(group, "architecture");
    spec.family = fromName<Family>(familyNames, hdf5::readText(group, "family"), "family");
    spec.norm = fromName<NormKind>(normNames, hdf5::readText(group, "norm"), "norm");
    spec.activation = fromName<Activation>(activationNames, hdf5::readText(group, "activation"), "activation");
    if (version >= 2) {
        spec.normPlace = fromName<NormPlace>(normPlaceNames, hdf5::readText(group, "norm_place"), "norm_place");
        spec.positions = fromName<Positions>(positionNames, hdf5::readText(group, "positions"), "positions");
    }
    for (const auto& field : modelIntegers)
        if (field.since <= version)
            field.get(spec) = smallCount(hdf5::readInteger(group, field.name), field.name);
    for (const auto& field : modelNumbers)
        if (field.since <= version)
            field.get(spec) = hdf5::readNumber(group, field.name);
    for (const auto& field : modelFlags)
        if (field.since <= version)
            field.get(spec) = hdf5::readInteger(group, field.name) != 0;
    card.parameters = hdf5::readInteger(group, "parameters");
    card.bytes = hdf5::readInteger(group, "bytes");
    card.dtype = hdf5::readText(group, "dtype");
    card.tokenizer = hdf5::readText(group, "tokenizer");
    card.fingerprint = hdf5::readText(group, "fingerprint");
    card.warnings = hdf5::readTexts(group, "warnings");
    spec.layers = readLayerSpecs(group, version);
    checkLayers(spec, "layers");
    return card;
}

} // namespace secateur
