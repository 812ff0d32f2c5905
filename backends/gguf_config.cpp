#include "backends/gguf_config.h"

#include "analysis/error.h"
#include "analysis/text.h"
#include "backends/architectures.h"
#include "backends/gguf_metadata.h"
#include "backends/rope_divisors.h"
#include "backends/spec_checks.h"
#include "backends/tensor_names.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace secateur {

namespace {

constexpr std::int64_t mostTokens = std::numeric_limits<int>::max();

/// The metadata of one architecture: keys begin with its name.
class Keys {
public:
    Keys(const GgufMetadata& metadata, std::string prefix)
        : m_metadata(metadata)
        , m_prefix(std::move(prefix) + ".") {}

    const GgufMetadata& metadata() const { return m_metadata; }
    std::string key(const std::string& name) const { return m_prefix + name; }

    std::optional<std::int64_t> integer(const std::string& name, std::int64_t least, std::int64_t most) const {
        return m_metadata.integer(key(name), least, most);
    }
    std::int64_t required(const std::string& name, std::int64_t least, std::int64_t most) const {
        const auto value = integer(name, least, most);
        if (!value)
            m_metadata.refuse(key(name), "is missing");
        return *value;
    }
    double positive(const std::string& name, double otherwise) const {
        const double value = m_metadata.number(key(name)).value_or(otherwise);
        if (!(value > 0))
            m_metadata.refuse(key(name), fmt::format("expected a number above 0, found {}", value));
        return value;
    }
    std::vector<std::int64_t> perLayer(const std::string& name, std::size_t layers, std::int64_t least,
                                       std::int64_t most) const {
        const auto values = m_metadata.integers(key(name), layers, least, most);
        if (!values)
            m_metadata.refuse(key(name), "is missing");
        return *values;
    }

private:
    const GgufMetadata& m_metadata;
    std::string m_prefix;
};

int headDim(const Keys& keys, int hidden, int mostHeads) {
    const auto keyLength = keys.integer("attention.key_length", 1, mostWidth);
    const auto valueLength = keys.integer("attention.value_length", 1, mostWidth);
    const int size =
        keyLength ? static_cast<int>(*keyLength) : headDimOf(hidden, mostHeads, keys.key("attention.head_count"));
    if (valueLength && *valueLength != size)
        keys.metadata().refuse(keys.key("attention.value_length"),
                               fmt::format("values of {} numbers beside keys of {} are not read", *valueLength, size));
    return size;
}

RotarySpec readRotary(const Keys& keys, const ArchitectureInfo& architecture, int size, const Checkpoint& checkpoint) {
    RotarySpec rotary;
    rotary.dims = static_cast<int>(keys.integer("rope.dimension_count", 0, mostWidth).value_or(size));
    if (architecture.ggufPairsRotaryRows && rotary.dims != size)
        keys.metadata().refuse(keys.key("rope.dimension_count"),
                               fmt::format("expected the size of a head, {}, found {}", size, rotary.dims));
    rotary.theta = keys.positive("rope.freq_base", architecture.defaults.ropeTheta);
    const std::string scaling = keys.metadata().text(keys.key("rope.scaling.type")).value_or("none");
    if (scaling == "linear") {
        rotary.scaling = RopeScaling::linear;
        rotary.factor = keys.positive("rope.scaling.factor", 1);
    } else if (scaling != "none") {
        keys.metadata().refuse(keys.key("rope.scaling.type"),
                               fmt::format("the rotary scaling \"{}\" is not known; known are none, linear", scaling));
    }
    const TensorEntry* divisors = checkpoint.find("rope_freqs.weight");
    if (!divisors)
        return rotary;
    if (divisors->shape != std::vector<std::int64_t>{rotary.dims / 2})
        throw Error(fmt::format("has shape {}, expected [{}]", shapeText(divisors->shape), rotary.dims / 2),
                    divisors->subject());
    const at::Tensor values = readTensor(*divisors).to(at::kFloat).contiguous();
    const auto context = keys.integer("rope.scaling.original_context_length", 0, mostTokens).value_or(0);
    return scalingFromDivisors(rotary, {values.data_ptr<float>(), static_cast<std::size_t>(values.numel())},
                               static_cast<int>(context), divisors->subject());
}

/// Biases are told by their tensors: the metadata does not mention them.
void findBiases(ModelSpec& spec, const TensorNames& names, const Checkpoint& checkpoint) {
    for (int index = 0; index < spec.layerCount(); ++index) {
        LayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
        const auto holds = [&](Which which) { return checkpoint.find(names.name(index, which)) != nullptr; };
        layer.queryBias = holds(Which::queryBias);
        layer.keyBias = holds(Which::keyBias);
        layer.valueBias = holds(Which::valueBias);
        layer.outputBias = holds(Which::outputBias);
    }
}

std::vector<LayerSpec> readLayers(const Keys& keys, const ArchitectureInfo& architecture, int hidden,
                                  const Checkpoint& checkpoint) {
    const auto count = static_cast<std::size_t>(keys.required("block_count", 1, mostLayers));
    const auto heads = keys.perLayer("attention.head_count", count, 0, mostWidth);
    const auto kvHeads = keys.metadata().has(keys.key("attention.head_count_kv"))
                             ? keys.perLayer("attention.head_count_kv", count, 0, mostWidth)
                             : heads;
    const auto ffn = keys.perLayer("feed_forward_length", count, 0, mostWidth);
    const int size = headDim(keys, hidden, static_cast<int>(std::ranges::max(heads)));
    const auto window = keys.integer("attention.sliding_window", 0, mostTokens).value_or(0);
    const RotarySpec rotary = readRotary(keys, architecture, size, checkpoint);

    std::vector<LayerSpec> layers(count);
    for (std::size_t i = 0; i < count; ++i) {
        LayerSpec& layer = layers[i];
        layer.heads = static_cast<int>(heads[i]);
        layer.kvHeads = static_cast<int>(kvHeads[i]);
        layer.headDim = size;
        layer.ffn = static_cast<int>(ffn[i]);
        layer.attention = layer.heads == 0 ? AttentionKind::none : AttentionKind::full;
        layer.window = static_cast<int>(window);
        layer.rotary = rotary;
    }
    return layers;
}

std::int64_t vocabOf(const TensorNames& names, const Checkpoint& checkpoint, const std::string& path) {
    const TensorEntry* embedding = checkpoint.find(names.name(-1, Which::embedding));
    if (!embedding)
        throw Error(fmt::format("has no tensor {}", names.name(-1, Which::embedding)), path);
    if (embedding->shape.front() < 1 || embedding->shape.front() > mostWidth)
        throw Error("has the shape " + shapeText(embedding->shape), embedding->subject());
    return embedding->shape.front();
}

ModelSpec readSpec(const std::string& path, const Keys& keys, const ArchitectureInfo& architecture,
                   const Checkpoint& checkpoint) {
    const TensorNames names(architecture, architecture.ggufTensors, checkpoint);
    ModelSpec spec;
    spec.architecture = architecture.id;
    spec.family = architecture.family;
    spec.norm = architecture.norm;
    spec.normWeightOffset = architecture.normWeightOffset;
    spec.gatedMlp = architecture.gatedMlp;
    spec.activation = architecture.defaults.activation;
    spec.hidden = static_cast<int>(keys.required("embedding_length", 1, mostWidth));
    spec.vocab = static_cast<int>(vocabOf(names, checkpoint, path));
    spec.context = static_cast<int>(keys.integer("context_length", 0, mostTokens).value_or(0));
    spec.normEpsilon = keys.positive("attention.layer_norm_rms_epsilon", architecture.defaults.normEpsilon);
    spec.layers = readLayers(keys, architecture, spec.hidden, checkpoint);
    findBiases(spec, names, checkpoint);
    spec.tiedEmbeddings = checkpoint.find(names.name(-1, Which::readOut)) == nullptr;
    checkLayers(spec, path);
    return spec;
}

std::string tokenizerOf(const GgufMetadata& metadata) {
    const std::string model = metadata.text("tokenizer.ggml.model").value_or("");
    const auto tokens = metadata.arrayLength("tokenizer.ggml.tokens");
    return model.empty() || !tokens ? model : fmt::format("{} ({} tokens)", model, grouped(*tokens));
}

void refuseExperts(const Keys& keys) {
    if (keys.integer("expert_count", 0, mostWidth).value_or(0) > 0)
        keys.metadata().refuse(keys.key("expert_count"), "mixtures of experts are not read");
}

} // namespace

CheckpointDescription describeGguf(const std::string& path, const GgufMetadata& metadata,
                                   const Checkpoint& checkpoint) {
    const auto name = metadata.text("general.architecture");
    if (!name)
        metadata.refuse("general.architecture", "is missing, so the architecture is not known");
    try {
        const ArchitectureInfo& architecture = architectureOfGguf(*name);
        const Keys keys(metadata, *name);
        refuseExperts(keys);
        return {.architecture = &architecture,
                .tensors = architecture.ggufTensors,
                .spec = readSpec(path, keys, architecture, checkpoint),
                .name = std::filesystem::path(path).stem().string(),
                .tokenizer = tokenizerOf(metadata),
                .pairsRotaryRows = architecture.ggufPairsRotaryRows};
    } catch (const Error& error) {
        throw error.subject().starts_with(path) ? error : error.within(path);
    }
}

} // namespace secateur
