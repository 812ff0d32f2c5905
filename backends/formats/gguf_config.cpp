#include "backends/formats/gguf.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "backends/config/architectures.h"
#include "backends/config/rope_divisors.h"
#include "backends/config/tensor_patterns.h"
#include "backends/formats/config_check.h"
#include "backends/formats/gguf_metadata.h"
#include "backends/formats/tensor_slots.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

namespace secateur {

namespace {

constexpr std::int64_t mostTokens = std::numeric_limits<int>::max();

/// The metadata keys of one architecture, which begin with its name.
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
                               fmt::format("expected the size of keys, {}, found {}", size, *valueLength));
    return size;
}

/// Adds llama3 scaling to rotary positions, if the file has a tensor of divisors of the unscaled frequencies.
RotarySpec withDivisors(const Keys& keys, const RotarySpec& rotary, const Checkpoint& checkpoint) {
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

RotarySpec readRotary(const Keys& keys, const ArchitectureInfo& architecture, int size, const Checkpoint& checkpoint) {
    RotarySpec rotary;
    if (architecture.positions != Positions::rotary)
        return rotary;
    rotary.dims = static_cast<int>(keys.integer("rope.dimension_count", 0, mostWidth).value_or(size));
    if (architecture.ggufPairsRotaryRows && rotary.dims != size)
        keys.metadata().refuse(keys.key("rope.dimension_count"),
                               fmt::format("expected the head size, {}, found {}", size, rotary.dims));
    rotary.theta = keys.positive("rope.freq_base", architecture.defaults.ropeTheta);
    const std::string scaling = keys.metadata().text(keys.key("rope.scaling.type")).value_or("none");
    if (scaling == "linear") {
        rotary.scaling = RopeScaling::linear;
        rotary.factor = keys.positive("rope.scaling.factor", 1);
    } else if (scaling != "none") {
        keys.metadata().refuse(
            keys.key("rope.scaling.type"),
            fmt::format("the rotary scaling \"{}\" is unknown; supported are none, linear", scaling));
    }
    return withDivisors(keys, rotary, checkpoint);
}

/// Rotary positions of the sliding-window layers of Gemma 3. Older files do not state the base. It is then 1e4, as in
/// llama.cpp.
RotarySpec localRotary(const Keys& keys, RotarySpec rotary) {
    rotary.theta = keys.positive("rope.freq_base_swa", 1e4);
    rotary.scaling = RopeScaling::none;
    rotary.factor = 1;
    return rotary;
}

/// Sets which biases the model has. The metadata does not state it, so the tensors are examined.
void findBiases(ModelSpec& spec, const TensorFinder& tensors) {
    for (int index = 0; index < spec.layerCount(); ++index) {
        LayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
        layer.queryBias = tensors.holds(index, WeightName::queryBias);
        layer.keyBias = tensors.holds(index, WeightName::keyBias);
        layer.valueBias = tensors.holds(index, WeightName::valueBias);
        layer.outputBias = tensors.holds(index, WeightName::outputBias);
        layer.gateBias = tensors.holds(index, WeightName::gateBias);
        layer.upBias = tensors.holds(index, WeightName::upBias);
        layer.downBias = tensors.holds(index, WeightName::downBias);
    }
}

/// The factor of attention scores. If the file does not state it, the factor is 1 / sqrt(head size). The 27B models of
/// Gemma 2 and 3 use 1 / sqrt(hidden / heads); as in llama.cpp, they are recognised by their number of layers.
double scoreScale(const Keys& keys, const ArchitectureInfo& architecture, int size, int hidden, int heads,
                  std::size_t layers) {
    constexpr std::size_t gemma2Layers27B = 46;
    constexpr std::size_t gemma3Layers27B = 62;
    const bool is27B =
        architecture.defaults.queryScalar > 0 && (layers == gemma2Layers27B || layers == gemma3Layers27B);
    return keys.positive("attention.scale", 1 / std::sqrt(is27B && heads > 0 ? hidden / heads : size));
}

bool isWindowed(const Keys& keys, const ArchitectureInfo& architecture, int layer) {
    switch (architecture.windows) {
    case Windows::evenLayers:
        return layer % 2 == 0;
    case Windows::fiveOfSix:
        return (layer + 1) % keys.integer("attention.sliding_window_pattern", 1, mostLayers).value_or(6) != 0;
    default: // files of other architectures state a window only if it applies to all layers
        return true;
    }
}

AttentionKind attentionOf(std::int64_t heads, std::int64_t kvHeads) {
    if (heads == 0)
        return AttentionKind::none;
    return kvHeads == 0 ? AttentionKind::linear : AttentionKind::full;
}

std::vector<LayerSpec> readGgufLayers(const Keys& keys, const ArchitectureInfo& architecture, int hidden,
                                      const Checkpoint& checkpoint) {
    const auto count = static_cast<std::size_t>(keys.required("block_count", 1, mostLayers));
    const auto heads = keys.perLayer("attention.head_count", count, 0, mostWidth);
    const auto kvHeads = keys.metadata().has(keys.key("attention.head_count_kv"))
                             ? keys.perLayer("attention.head_count_kv", count, 0, mostWidth)
                             : heads;
    const auto ffn = keys.perLayer("feed_forward_length", count, 0, mostWidth);
    const int mostHeads = static_cast<int>(std::ranges::max(heads));
    const int size = headDim(keys, hidden, mostHeads);
    const auto window = keys.integer("attention.sliding_window", 0, mostTokens).value_or(0);
    const RotarySpec rotary = readRotary(keys, architecture, size, checkpoint);

    std::vector<LayerSpec> layers(count);
    for (std::size_t i = 0; i < count; ++i) {
        LayerSpec& layer = layers[i];
        const bool windowed = window > 0 && isWindowed(keys, architecture, static_cast<int>(i));
        layer.heads = static_cast<int>(heads[i]);
        layer.kvHeads = static_cast<int>(kvHeads[i]);
        layer.headDim = size;
        layer.ffn = static_cast<int>(ffn[i]);
        layer.attention = attentionOf(heads[i], kvHeads[i]);
        layer.window = windowed ? static_cast<int>(window) : 0;
        layer.rotary = windowed && architecture.localRotary ? localRotary(keys, rotary) : rotary;
        layer.scoreScale = scoreScale(keys, architecture, size, hidden, mostHeads, count);
        layer.normsHeads = architecture.normsHeads;
    }
    return layers;
}

/// Number of rows of a weight, which the metadata does not state; 0 if there is no such tensor.
int rowsOf(const TensorFinder& tensors, WeightName weight) {
    const TensorEntry* entry = tensors.find(-1, weight).entry;
    if (!entry)
        return 0;
    if (entry->shape.front() < 1 || entry->shape.front() > mostWidth)
        throw Error("has the shape " + shapeText(entry->shape), entry->subject());
    return static_cast<int>(entry->shape.front());
}

void readEmbeddings(const Keys& keys, const ArchitectureInfo& architecture, const TensorFinder& tensors,
                    ModelSpec& spec) {
    spec.vocab = rowsOf(tensors, WeightName::embedding);
    spec.context = static_cast<int>(keys.integer("context_length", 0, mostTokens).value_or(0));
    spec.learnedPositions = spec.positions == Positions::learned ? rowsOf(tensors, WeightName::positionEmbedding) : 0;
    spec.tokenTypes = spec.family == Family::encoder ? rowsOf(tensors, WeightName::typeEmbedding) : 0;
    spec.tiedEmbeddings = spec.family == Family::decoder && !tensors.holds(-1, WeightName::lmHead);
    if (architecture.scalesEmbedding)
        spec.embeddingScale = std::sqrt(spec.hidden);
}

/// A softcap, or 0 if there is none. Keys that the architecture does not read count as absent.
double softcap(const Keys& keys, const ArchitectureInfo& architecture, const std::string& name, double otherwise) {
    const auto& known = architecture.ggufKeys.front().read;
    const bool isRead = std::ranges::find(known, name) != known.end();
    const double cap = isRead ? keys.metadata().number(keys.key(name)).value_or(otherwise) : 0;
    if (!(cap >= 0))
        keys.metadata().refuse(keys.key(name), fmt::format("expected a number from 0, found {}", cap));
    return cap;
}

ModelSpec readSpec(const std::string& path, const Keys& keys, const ArchitectureInfo& architecture,
                   const Checkpoint& checkpoint) {
    const TensorFinder tensors(checkpoint, ggufTensors(), {});
    if (!tensors.holds(-1, WeightName::embedding))
        throw Error(fmt::format("has no tensor {}", tensors.name(-1, WeightName::embedding)), path);
    ModelSpec spec = specOf(architecture);
    spec.hidden = static_cast<int>(keys.required("embedding_length", 1, mostWidth));
    readEmbeddings(keys, architecture, tensors, spec);
    spec.normEpsilon =
        keys.positive(spec.norm == NormKind::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon",
                      architecture.defaults.normEpsilon);
    spec.scoreSoftcap = softcap(keys, architecture, "attn_logit_softcapping", architecture.defaults.scoreSoftcap);
    spec.logitSoftcap = softcap(keys, architecture, "final_logit_softcapping", architecture.defaults.logitSoftcap);
    spec.layers = readGgufLayers(keys, architecture, spec.hidden, checkpoint);
    findBiases(spec, tensors);
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
        keys.metadata().refuse(keys.key("expert_count"), "mixtures of experts are not supported");
}

} // namespace

CheckpointDescription describeGguf(const std::string& path, const GgufMetadata& metadata,
                                   const Checkpoint& checkpoint) {
    const auto name = metadata.text("general.architecture");
    if (!name)
        metadata.refuse("general.architecture", "is missing; it names the architecture");
    try {
        const ArchitectureInfo& architecture = architectureOfGguf(*name);
        const Keys keys(metadata, *name);
        refuseExperts(keys);
        std::vector<std::string> warnings = checkedMetadata(metadata, architecture, *name);
        return {.spec = readSpec(path, keys, architecture, checkpoint),
                .tensors = ggufTensors(),
                .prefixes = {},
                .unused = architecture.unused,
                .name = std::filesystem::path(path).stem().string(),
                .tokenizer = tokenizerOf(metadata),
                .pairsRotaryRows = architecture.ggufPairsRotaryRows,
                .addsOneToNorms = architecture.ggufAddsOneToNorms,
                .warnings = std::move(warnings)};
    } catch (const Error& error) {
        throw error.subject().starts_with(path) ? error : error.within(path);
    }
}

} // namespace secateur
