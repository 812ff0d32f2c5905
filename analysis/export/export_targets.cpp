#include "analysis/export/export_targets.h"

#include "analysis/masks/dropped_sublayers.h"
#include "analysis/base/error.h"
#include "analysis/export/legalise.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

namespace secateur {

namespace {

using Layers = std::vector<int>;
using Reasons = std::vector<std::string>;

/// "layer 3", "layers 3, 7 and 28", "layers 0, 1, 2, 3 and 26 more"
std::string named(const Layers& layers) {
    if (layers.size() == 1)
        return fmt::format("layer {}", layers.front());
    constexpr std::size_t shown = 4;
    const bool isShort = layers.size() <= shown + 1;
    std::vector<std::string> numbers;
    for (std::size_t i = 0; i < (isShort ? layers.size() - 1 : shown); ++i)
        numbers.push_back(std::to_string(layers[i]));
    const std::string last =
        isShort ? std::to_string(layers.back()) : fmt::format("{} more", layers.size() - numbers.size());
    return fmt::format("layers {} and {}", join(numbers, ", "), last);
}

/// A layer as a mask leaves it.
struct CutLayer {
    int index;
    const LayerSpec& spec;
    const LayerMask& mask;

    bool hasAttention() const { return spec.attention != AttentionKind::none && !dropsAttention(mask); }
    bool hasMlp() const { return spec.ffn > 0 && !dropsMlp(mask); }
    bool bypasses() const {
        return spec.attention == AttentionKind::valueOnly ||
               (mask.attention == AttentionCut::bypassQk && !dropsAttention(mask));
    }
    int heads() const { return hasAttention() ? mask.keptHeads() : 0; }
    int kvHeads() const {
        std::set<int> groups;
        for (int head = 0; head < spec.heads && hasAttention(); ++head)
            if (mask.heads[static_cast<std::size_t>(head)])
                groups.insert(spec.kvGroup(head));
        return static_cast<int>(groups.size());
    }
    int neurons() const { return hasMlp() ? mask.keptNeurons() : 0; }
};

/// One export that is thought of: what all checks ask.
class Question {
public:
    Question(const PruningMask& mask, const ModelSpec& spec)
        : m_mask(mask)
        , m_spec(spec) {}

    const ModelSpec& spec() const { return m_spec; }

    Layers layers(const std::function<bool(const CutLayer&)>& holds) const {
        Layers found;
        for (int index = 0; index < m_spec.layerCount(); ++index)
            if (holds({index, m_spec.layers[static_cast<std::size_t>(index)], m_mask.layer(index)}))
                found.push_back(index);
        return found;
    }

    /// Adds "layers 3 and 7: SENTENCE" where any layer does.
    void refuse(Reasons& reasons, const std::function<bool(const CutLayer&)>& holds, std::string_view sentence) const {
        if (const Layers found = layers(holds); !found.empty())
            reasons.push_back(fmt::format("{}: {}", named(found), sentence));
    }

    void refuseBypass(Reasons& reasons, std::string_view sentence) const {
        refuse(
            reasons, [](const CutLayer& layer) { return layer.bypasses() && layer.hasAttention(); }, sentence);
    }

    void refuseUnequalGroups(Reasons& reasons) const {
        refuse(
            reasons, [](const CutLayer& layer) { return !keepsEqualGroups(layer.mask, layer.spec); },
            "KV groups keep unlike numbers of heads, which those of a legalised mask do not");
    }

private:
    const PruningMask& m_mask;
    const ModelSpec& m_spec;
};

bool isLlamaLike(const ModelSpec& spec) {
    const auto plain = [](const LayerSpec& layer) {
        return !layer.normsHeads && layer.window == 0 && layer.rotary.dims == layer.headDim && !layer.outputBias &&
               !layer.gateBias && !layer.upBias && !layer.downBias;
    };
    return spec.family == Family::decoder && spec.norm == NormKind::rms && spec.normPlace == NormPlace::before &&
           spec.gatedMlp && spec.activation == Activation::silu && spec.positions == Positions::rotary &&
           spec.scoreSoftcap == 0 && spec.logitSoftcap == 0 && spec.normWeightOffset == 0 &&
           std::ranges::all_of(spec.layers, [&](const LayerSpec& layer) { return layer.heads == 0 || plain(layer); });
}

constexpr std::string_view llamaLike = "norms before its sublayers, a gated SiLU MLP and rotary positions of whole "
                                       "heads, without windows, softcaps, norms of heads and biases behind products";

void refuseZeroedBypass(const Question& question, Reasons& reasons) {
    question.refuse(
        reasons,
        [](const CutLayer& layer) {
            return layer.mask.attention == AttentionCut::bypassQk && !dropsAttention(layer.mask);
        },
        "queries and keys are bypassed; were they 0, each token would attend to all alike, not to itself");
}

Reasons masked(const PruningMask& mask, const ModelSpec& spec, std::string_view) {
    const Question question(mask, spec);
    Reasons reasons;
    refuseZeroedBypass(question, reasons);
    if (spec.normPlace == NormPlace::after)
        question.refuse(
            reasons, [](const CutLayer& layer) { return !layer.mask.block; },
            "the block is dropped, and its norms, which stand behind its sublayers, would still act");
    return reasons;
}

Reasons compactGguf(const PruningMask& mask, const ModelSpec& spec, std::string_view) {
    if (!isLlamaLike(spec))
        return {fmt::format("llama.cpp's graph with counts per layer (deci) is Llama's: {}; {} is none", llamaLike,
                            spec.architecture)};
    const Question question(mask, spec);
    Reasons reasons;
    question.refuseUnequalGroups(reasons);
    question.refuse(
        reasons,
        [&](const CutLayer& layer) {
            return layer.spec.queryBias && layer.heads() > 0 && layer.heads() * layer.spec.headDim != spec.hidden;
        },
        "there is a query bias, which llama.cpp reads only as wide as the stream");
    question.refuse(
        reasons, [](const CutLayer& layer) { return layer.bypasses() && layer.spec.valueBias; },
        "queries and keys are bypassed, and the matrix that then stands for attention has no place for the value bias");
    return reasons;
}

/// Whether a configuration of transformers states the size of heads apart from their number.
bool statesHeadSize(const ModelSpec& spec) {
    static constexpr std::array known{"llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3"};
    return std::ranges::find(known, spec.architecture) != known.end();
}

/// The layers that are left must be of one shape.
void refuseUnlikeShapes(const Question& question, Reasons& reasons) {
    std::set<int> heads, kvHeads, neurons;
    question.layers([&](const CutLayer& layer) {
        if (layer.mask.block) {
            heads.insert(layer.heads());
            kvHeads.insert(layer.kvHeads());
            neurons.insert(layer.neurons());
        }
        return false;
    });
    if (heads.size() > 1)
        reasons.emplace_back("head counts vary between layers, and the configuration states one for all");
    if (kvHeads.size() > 1)
        reasons.emplace_back("KV head counts vary between layers, and the configuration states one for all");
    if (neurons.size() > 1)
        reasons.emplace_back("MLP widths vary between layers, and the configuration states one for all");
}

Reasons native(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    const Question question(mask, spec);
    Reasons reasons;
    question.refuseBypass(reasons, "queries and keys are bypassed, which the model's own architecture does not know");
    const auto stays = [](const CutLayer& layer) { return layer.mask.block; };
    question.refuse(
        reasons, [&](const CutLayer& layer) { return stays(layer) && (!layer.heads() || !layer.neurons()); },
        "no attention or no MLP would be left, and the model's own architecture always has both");
    question.refuseUnequalGroups(reasons);
    refuseUnlikeShapes(question, reasons);
    const Layers cutHeads =
        question.layers([&](const CutLayer& layer) { return stays(layer) && layer.heads() != layer.spec.heads; });
    if (!cutHeads.empty() && format != "gguf") {
        if (!statesHeadSize(spec))
            reasons.push_back(fmt::format("transformers derives the size of {}'s heads from their number, so that "
                                          "none can go",
                                          spec.architecture));
        const LayerMask& first = mask.layer(cutHeads.front());
        if (const int heads = first.keptHeads(); heads > 0 && spec.hidden % heads != 0)
            reasons.push_back(fmt::format("transformers 5 refuses {} heads, which do not divide the width of {}", heads,
                                          spec.hidden));
    }
    if (!spec.tiedGroups().empty())
        question.refuse(
            reasons, [](const CutLayer& layer) { return !layer.mask.block; },
            "the block shares its weights with others and cannot go alone");
    return reasons;
}

void refuseGguf(Reasons& reasons, std::string_view format) {
    if (format == "gguf")
        reasons.emplace_back("the source is a GGUF, which lacks the configuration and tokenizer of Hugging Face");
}

Reasons deciLm(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    if (!isLlamaLike(spec))
        return {fmt::format("DeciLM is built as Llama is: {}; {} is not", llamaLike, spec.architecture)};
    const Question question(mask, spec);
    Reasons reasons;
    refuseGguf(reasons, format);
    question.refuse(
        reasons, [](const CutLayer& layer) { return layer.hasAttention() && layer.heads() != layer.spec.heads; },
        "some heads are cut, and DeciLM has one number of query heads for all layers");
    question.refuse(
        reasons, [](const CutLayer& layer) { return layer.spec.queryBias || layer.spec.valueBias; },
        "there are biases, for which DeciLM has no place");
    question.refuseBypass(reasons, "queries and keys are bypassed, which runtimes of DeciLM ignore");
    return reasons;
}

Reasons remoteCode(const PruningMask&, const ModelSpec&, std::string_view format) {
    Reasons reasons;
    refuseGguf(reasons, format);
    return reasons;
}

Reasons padded(const PruningMask& mask, const ModelSpec& spec, std::string_view) {
    const Question question(mask, spec);
    Reasons reasons;
    refuseZeroedBypass(question, reasons);
    const bool isSmaller =
        !question.layers([](const CutLayer& layer) { return !layer.mask.block; }).empty() ||
        question.layers([&](const CutLayer& layer) { return layer.heads() == spec.maxHeads(); }).empty() ||
        question.layers([](const CutLayer& layer) { return layer.neurons() == layer.spec.ffn; }).empty();
    if (!isSmaller)
        reasons.emplace_back(
            "a layer keeps all its heads and one all its neurons: padded to them nothing gets smaller");
    return reasons;
}

constexpr std::array targets{
    ExportTarget{"masked", "masked", "whatever opens the source", true, masked},
    ExportTarget{"gguf", "compact GGUF", "llama.cpp", false, compactGguf},
    ExportTarget{"native", "the model's own architecture", "transformers, vLLM, llama.cpp", false, native},
    ExportTarget{"decilm", "DeciLM", "transformers with trust_remote_code, vLLM", false, deciLm},
    ExportTarget{"remote_code", "own code", "transformers with trust_remote_code", false, remoteCode},
    ExportTarget{"padded", "padded", "whatever opens the source", false, padded},
};

} // namespace

std::span<const ExportTarget> exportTargets() {
    return targets;
}

const ExportTarget& exportTarget(std::string_view id) {
    const auto found = std::ranges::find(targets, id, &ExportTarget::id);
    if (found != targets.end())
        return *found;
    std::vector<std::string> known;
    for (const ExportTarget& target : targets)
        known.emplace_back(target.id);
    throw UsageError(fmt::format("unknown target; the known ones are {}", join(known, ", ")), std::string(id));
}

void checkExport(const ExportTarget& target, const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    mask.checkFits(spec);
    const Reasons reasons = target.reasons(mask, spec, format);
    if (reasons.empty())
        return;
    std::vector<std::string> written, others;
    for (const ExportTarget& other : targets)
        if (other.reasons(mask, spec, format).empty())
            (other.isWritten ? written : others).emplace_back(other.name);
    std::string hint = "No form of export holds this mask";
    if (!written.empty())
        hint = "Export it as " + join(written, " or ");
    else if (!others.empty())
        hint = fmt::format("What holds it, {}, is not written by this version", join(others, " or "));
    throw Error(fmt::format("cannot be exported as {}: {}", target.name, reasons.front()), {}, hint);
}

} // namespace secateur
