#include "backends/export/gguf_description.h"

#include "analysis/base/error.h"
#include "backends/config/rope_divisors.h"
#include "backends/config/tensor_patterns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

float inFloat(double value) {
    return static_cast<float>(value);
}

bool fusesProjections(const ModelSpec& spec) {
    return spec.architecture == "gpt2" || spec.architecture == "phi" || spec.architecture == "openelm";
}

bool isProjection(WeightName weight) {
    using enum WeightName;
    return weight == query || weight == key || weight == value || weight == queryBias || weight == keyBias ||
           weight == valueBias;
}

const LayerSpec& fullLayer(const ModelSpec& spec) {
    const auto found = std::ranges::find(spec.layers, 0, &LayerSpec::window);
    return found == spec.layers.end() ? spec.layers.front() : *found;
}

} // namespace

std::string ggufNameOf(const ModelSpec& spec) {
    if (spec.architecture == "mistral")
        return "llama";
    for (const ArchitectureInfo& row : allArchitectures())
        if (row.id == spec.architecture && !row.ggufNames.empty())
            return std::string(row.ggufNames.front());
    throw Error(fmt::format("has the architecture {}, which has no name in GGUF", spec.architecture));
}

std::vector<GgufField> ggufFieldsOf(const ModelSpec& spec, const std::string& name, const std::string& modelName) {
    const std::string prefix = name + ".";
    std::vector<GgufField> fields{
        fieldOf("general.name", std::string_view(modelName)),
        fieldOf(prefix + "vocab_size", static_cast<std::uint32_t>(spec.vocab)),
        fieldOf(
            prefix + "context_length",
            static_cast<std::uint32_t>(spec.positions == Positions::learned ? spec.learnedPositions : spec.context)),
        fieldOf(prefix + "embedding_length", static_cast<std::uint32_t>(spec.hidden)),
        fieldOf(prefix +
                    (spec.norm == NormKind::rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon"),
                inFloat(spec.normEpsilon))};
    if (spec.positions == Positions::rotary) {
        const RotarySpec& rotary = fullLayer(spec).rotary;
        fields.push_back(fieldOf(prefix + "rope.freq_base", inFloat(rotary.theta)));
        if (rotary.scaling == RopeScaling::linear) {
            fields.push_back(fieldOf(prefix + "rope.scaling.type", "linear"));
            fields.push_back(fieldOf(prefix + "rope.scaling.factor", inFloat(rotary.factor)));
        }
        if (rotary.originalContext > 0)
            fields.push_back(fieldOf(prefix + "rope.scaling.original_context_length",
                                     static_cast<std::uint32_t>(rotary.originalContext)));
    }
    const auto local = std::ranges::find_if(spec.layers, [](const LayerSpec& layer) { return layer.window > 0; });
    if (local != spec.layers.end()) {
        fields.push_back(fieldOf(prefix + "attention.sliding_window", static_cast<std::uint32_t>(local->window)));
        if (spec.architecture == "gemma3")
            fields.push_back(fieldOf(prefix + "rope.freq_base_swa", inFloat(local->rotary.theta)));
    }
    if (spec.scoreSoftcap > 0)
        fields.push_back(fieldOf(prefix + "attn_logit_softcapping", inFloat(spec.scoreSoftcap)));
    if (spec.logitSoftcap > 0)
        fields.push_back(fieldOf(prefix + "final_logit_softcapping", inFloat(spec.logitSoftcap)));
    return fields;
}

std::optional<TargetTensor> rotaryDivisors(const ModelSpec& spec) {
    const RotarySpec& rotary = fullLayer(spec).rotary;
    if (rotary.scaling != RopeScaling::llama3 && rotary.scaling != RopeScaling::listed)
        return std::nullopt;
    RotarySpec plain = rotary;
    plain.scaling = RopeScaling::none;
    std::vector<float> divisors;
    for (int pair = 0; pair < rotary.dims / 2; ++pair)
        divisors.push_back(inFloat(inverseFrequency(plain, pair) / inverseFrequency(rotary, pair)));
    const StorageType& type = *ggufType(0);
    return TargetTensor{
        "rope_freqs.weight", &type, {std::ssize(divisors)}, {pieceOf(encodedRows(type, divisors, divisors.size()))}};
}

const TensorPattern* ggufPattern(const ModelSpec& spec, WeightName weight) {
    const bool isFused = fusesProjections(spec) && isProjection(weight);
    const bool isEncoder = spec.family == Family::encoder;
    const TensorPattern* last = nullptr;
    const TensorPatterns patterns = ggufTensors();
    for (const TensorPattern& pattern : patterns.front()) {
        if (pattern.weight != weight || (pattern.part != FusedPart::whole) != isFused)
            continue;
        // Of two names, the first is that of decoders and the second that of encoders.
        if (!last || isEncoder)
            last = &pattern;
    }
    return last;
}

} // namespace secateur
