#include "backends/session_model.h"

#include "analysis/error.h"
#include "backends/spec_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace secateur {

namespace {

using hdf5::Handle;

template <typename Value>
struct LayerField {
    const char* name;
    Value& (*get)(LayerSpec&);
};

#define FIELD(Value, name, member)                                                                                     \
    LayerField<Value> {                                                                                                \
        name, [](LayerSpec& layer) -> Value& { return layer.member; }                                                  \
    }
constexpr std::array integerFields{
    FIELD(int, "heads", heads),
    FIELD(int, "kv_heads", kvHeads),
    FIELD(int, "head_dim", headDim),
    FIELD(int, "ffn", ffn),
    FIELD(int, "window", window),
    FIELD(int, "rotary_dims", rotary.dims),
    FIELD(int, "rope_original_context", rotary.originalContext),
};
constexpr std::array numberFields{
    FIELD(double, "alpha", alpha),
    FIELD(double, "rope_theta", rotary.theta),
    FIELD(double, "rope_factor", rotary.factor),
    FIELD(double, "rope_low_frequency_factor", rotary.lowFrequencyFactor),
    FIELD(double, "rope_high_frequency_factor", rotary.highFrequencyFactor),
};
constexpr std::array flagFields{
    FIELD(bool, "query_bias", queryBias),   FIELD(bool, "key_bias", keyBias), FIELD(bool, "value_bias", valueBias),
    FIELD(bool, "output_bias", outputBias),
};
#undef FIELD

constexpr std::array attentionNames{"full", "none", "value_only", "linear"};
constexpr std::array scalingNames{"none", "linear", "llama3"};
constexpr std::array familyNames{"decoder", "encoder"};
constexpr std::array normNames{"rms", "layer"};
constexpr std::array activationNames{"silu", "gelu_tanh", "gelu_erf", "relu"};

/// Enumerations are stored by name, in the order of their declaration.
template <typename Enum, std::size_t count>
Enum fromName(const std::array<const char*, count>& names, const std::string& text, const std::string& field) {
    const auto found = std::find(names.begin(), names.end(), text);
    if (found == names.end())
        throw Error(fmt::format("holds the unknown word \"{}\"", text), field);
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
    for (const auto& field : integerFields)
        hdf5::writeIntegers(group, field.name, gather(field.get, std::vector<std::int64_t>()));
    for (const auto& field : numberFields)
        hdf5::writeNumbers(group, field.name, gather(field.get, std::vector<double>()));
    for (const auto& field : flagFields)
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

std::vector<LayerSpec> readLayers(const Handle& group) {
    const int count = smallCount(hdf5::readInteger(group, "layers"), "layers", mostLayers);
    std::vector<LayerSpec> layers(static_cast<std::size_t>(count));
    const auto each = [&](const auto& values, auto set) {
        for (std::size_t i = 0; i < layers.size(); ++i)
            set(layers[i], values[i]);
    };
    for (const auto& field : integerFields)
        each(sized(hdf5::readIntegers(group, field.name), layers.size(), field.name),
             [&](LayerSpec& layer, std::int64_t value) { field.get(layer) = smallCount(value, field.name); });
    for (const auto& field : numberFields)
        each(sized(hdf5::readNumbers(group, field.name), layers.size(), field.name),
             [&](LayerSpec& layer, double value) { field.get(layer) = value; });
    for (const auto& field : flagFields)
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
    return layers;
}

} // namespace

void writeModelCard(const Handle& group, const ModelCard& card) {
    const ModelSpec& spec = card.spec;
    hdf5::writeText(group, "path", card.path);
    hdf5::writeText(group, "format", card.format);
    hdf5::writeText(group, "name", card.name);
    hdf5::writeText(group, "architecture", spec.architecture);
    hdf5::writeText(group, "family", toName(familyNames, spec.family));
    hdf5::writeText(group, "structure", spec.structure());
    hdf5::writeInteger(group, "layers", spec.layerCount());
    hdf5::writeInteger(group, "hidden", spec.hidden);
    hdf5::writeInteger(group, "vocab", spec.vocab);
    hdf5::writeInteger(group, "context", spec.context);
    hdf5::writeText(group, "norm", toName(normNames, spec.norm));
    hdf5::writeNumber(group, "norm_epsilon", spec.normEpsilon);
    hdf5::writeNumber(group, "norm_weight_offset", spec.normWeightOffset);
    hdf5::writeText(group, "activation", toName(activationNames, spec.activation));
    hdf5::writeInteger(group, "gated_mlp", spec.gatedMlp ? 1 : 0);
    hdf5::writeInteger(group, "tied_embeddings", spec.tiedEmbeddings ? 1 : 0);
    hdf5::writeInteger(group, "parameters", card.parameters);
    hdf5::writeInteger(group, "bytes", card.bytes);
    hdf5::writeText(group, "dtype", card.dtype);
    hdf5::writeText(group, "tokenizer", card.tokenizer);
    hdf5::writeText(group, "fingerprint", card.fingerprint);
    hdf5::writeTexts(group, "warnings", card.warnings);
    writeLayers(group, spec.layers);
}

ModelCard readModelCard(const Handle& group) {
    ModelCard card;
    ModelSpec& spec = card.spec;
    card.path = hdf5::readText(group, "path");
    card.format = hdf5::readText(group, "format");
    card.name = hdf5::readText(group, "name");
    spec.architecture = hdf5::readText(group, "architecture");
    spec.family = fromName<Family>(familyNames, hdf5::readText(group, "family"), "family");
    spec.hidden = smallCount(hdf5::readInteger(group, "hidden"), "hidden");
    spec.vocab = smallCount(hdf5::readInteger(group, "vocab"), "vocab");
    spec.context = smallCount(hdf5::readInteger(group, "context"), "context");
    spec.norm = fromName<NormKind>(normNames, hdf5::readText(group, "norm"), "norm");
    spec.normEpsilon = hdf5::readNumber(group, "norm_epsilon");
    spec.normWeightOffset = hdf5::readNumber(group, "norm_weight_offset");
    spec.activation = fromName<Activation>(activationNames, hdf5::readText(group, "activation"), "activation");
    spec.gatedMlp = hdf5::readInteger(group, "gated_mlp") != 0;
    spec.tiedEmbeddings = hdf5::readInteger(group, "tied_embeddings") != 0;
    card.parameters = hdf5::readInteger(group, "parameters");
    card.bytes = hdf5::readInteger(group, "bytes");
    card.dtype = hdf5::readText(group, "dtype");
    card.tokenizer = hdf5::readText(group, "tokenizer");
    card.fingerprint = hdf5::readText(group, "fingerprint");
    card.warnings = hdf5::readTexts(group, "warnings");
    spec.layers = readLayers(group);
    checkLayers(spec, "layers");
    return card;
}

} // namespace secateur
