#include "analysis/export/export_target.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/export/bias_room.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/pruning_mask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <limits>
#include <set>

namespace secateur {

namespace {

using Layers = std::vector<int>;
using Reasons = std::vector<std::string>;

/// Layers as text: "layer 3", "layers 3, 7 and 28", "layers 0, 1, 2, 3 and 26 more".
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

/// A layer under a mask.
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
        for (int head = 0; head < spec.heads && spec.kvHeads > 0 && hasAttention(); ++head)
            if (mask.heads[static_cast<std::size_t>(head)])
                groups.insert(spec.kvGroup(head));
        return static_cast<int>(groups.size());
    }
    int neurons() const { return hasMlp() ? mask.keptNeurons() : 0; }
};

/// A model under a mask, for checks of all layers.
class MaskedModel {
public:
    MaskedModel(const PruningMask& mask, const ModelSpec& spec)
        : m_mask(mask)
        , m_spec(spec) {}

    /// The layers for which a condition holds.
    Layers layers(const std::function<bool(const CutLayer&)>& holds) const {
        Layers found;
        for (int index = 0; index < m_spec.layerCount(); ++index)
            if (holds({index, m_spec.layers[static_cast<std::size_t>(index)], m_mask.layer(index)}))
                found.push_back(index);
        return found;
    }

    /// If the condition holds for any layer, adds the reason "layers 3 and 7: SENTENCE".
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
            "KV groups keep different numbers of heads; those of a legalised mask keep equal numbers");
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

constexpr std::string_view llamaLike = "norms before its sublayers, a gated SiLU MLP and rotary positions over whole "
                                       "heads, without windows, softcaps, head norms and MLP or output biases";

void refuseZeroedBypass(const MaskedModel& model, Reasons& reasons) {
    model.refuse(
        reasons,
        [](const CutLayer& layer) {
            return layer.mask.attention == AttentionCut::bypassQk && !dropsAttention(layer.mask);
        },
        "queries and keys are bypassed; with zero weights each token would attend equally to all tokens, not to "
        "itself");
}

/// Whether the configuration of the architecture in transformers states the head size. If not, the head size follows
/// from the number of heads.
bool statesHeadSize(const ModelSpec& spec) {
    static constexpr std::array known{"llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3"};
    return std::ranges::find(known, spec.architecture) != known.end();
}

/// Adds a reason if the kept layers differ in shape.
void refuseVaryingShapes(const MaskedModel& model, Reasons& reasons) {
    std::set<int> heads, kvHeads, neurons;
    model.layers([&](const CutLayer& layer) {
        if (layer.mask.block) {
            heads.insert(layer.heads());
            kvHeads.insert(layer.kvHeads());
            neurons.insert(layer.neurons());
        }
        return false;
    });
    if (heads.size() > 1)
        reasons.emplace_back("head counts vary between layers, but the configuration has one value for all");
    if (kvHeads.size() > 1)
        reasons.emplace_back("KV head counts vary between layers, but the configuration has one value for all");
    if (neurons.size() > 1)
        reasons.emplace_back("MLP widths vary between layers, but the configuration has one value for all");
}

void refuseGguf(Reasons& reasons, std::string_view format) {
    if (format == "gguf")
        reasons.emplace_back("the source is a GGUF, which has no Hugging Face configuration and tokenizer");
}

/// For each KV group of a layer, the number of query heads that it keeps: [kvHeads].
using Counts = std::vector<int>;

bool mustKeepEqualGroups(const LayerMask& mask, const LayerSpec& spec) {
    return spec.kvHeads > 0 && mask.block && mask.attention == AttentionCut::keep;
}

Counts countsOf(const LayerMask& mask, const LayerSpec& spec) {
    Counts counts(static_cast<std::size_t>(spec.kvHeads));
    for (int head = 0; head < spec.heads; ++head)
        counts[static_cast<std::size_t>(spec.kvGroup(head))] += mask.heads[static_cast<std::size_t>(head)] ? 1 : 0;
    return counts;
}

bool allows(LegaliseBy by, int before, int after) {
    return by == LegaliseBy::either || (by == LegaliseBy::cutting ? after <= before : after >= before);
}

struct LegalCounts {
    int changes = 0;
    Counts counts;
};

/// For each KV group, 0 or `wanted`, whichever is closer to its count and allowed. Empty if neither is allowed for a
/// group.
std::optional<LegalCounts> nearestCounts(const Counts& counts, int wanted, LegaliseBy by) {
    LegalCounts choice;
    for (const int count : counts) {
        std::optional<int> best;
        for (const int after : {wanted, 0})
            if (allows(by, count, after) && (!best || std::abs(after - count) < std::abs(*best - count)))
                best = after;
        if (!best)
            return std::nullopt;
        choice.changes += std::abs(*best - count);
        choice.counts.push_back(*best);
    }
    return choice;
}

Counts nearestLegal(const Counts& counts, int perGroup, LegaliseBy by) {
    LegalCounts best{std::numeric_limits<int>::max(), counts};
    // Tries large numbers first. Of equally small changes, the one that keeps more heads is then chosen.
    for (int wanted = perGroup; wanted >= 1; --wanted)
        if (const auto choice = nearestCounts(counts, wanted, by); choice && choice->changes < best.changes)
            best = *choice;
    return best.counts;
}

void refuseBiases(const MaskedModel& model, const ModelSpec& spec, std::string_view format, Reasons& reasons) {
    for (const bool attention : {true, false})
        model.refuse(
            reasons,
            [&](const CutLayer& layer) {
                return addsBias(layer.spec, layer.mask, attention) &&
                       biasRoom(spec, layer.spec, attention, format) == BiasRoom::none;
            },
            fmt::format("the compensation adds a bias to {}, but {} checkpoints of {} have none there",
                        attention ? "the output projection of attention" : "the down projection of the MLP", format,
                        spec.architecture));
}

} // namespace

std::vector<std::string> maskedReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    const MaskedModel model(mask, spec);
    Reasons reasons;
    refuseZeroedBypass(model, reasons);
    refuseBiases(model, spec, format, reasons);
    if (spec.normPlace == NormPlace::after)
        model.refuse(
            reasons, [](const CutLayer& layer) { return !layer.mask.block; },
            "the block is dropped, but the norms after its sublayers would still act");
    return reasons;
}

std::vector<std::string> compactGgufReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view) {
    if (!isLlamaLike(spec))
        return {fmt::format("llama.cpp's architecture deci needs a Llama-like model ({}); {} is not", llamaLike,
                            spec.architecture)};
    const MaskedModel model(mask, spec);
    Reasons reasons;
    model.refuseUnequalGroups(reasons);
    model.refuse(
        reasons,
        [&](const CutLayer& layer) {
            return layer.spec.queryBias && layer.heads() > 0 && layer.heads() * layer.spec.headDim != spec.hidden;
        },
        "there is a query bias, which llama.cpp reads only at the width of the residual stream");
    model.refuse(
        reasons, [](const CutLayer& layer) { return layer.bypasses() && layer.spec.valueBias; },
        "queries and keys are bypassed, but the linear layer that replaces attention has no bias, and the values "
        "have one");
    return reasons;
}

std::vector<std::string> nativeReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    const MaskedModel model(mask, spec);
    Reasons reasons;
    model.refuseBypass(reasons, "queries and keys are bypassed, which the model's own architecture does not support");
    const auto stays = [](const CutLayer& layer) { return layer.mask.block; };
    model.refuse(
        reasons, [&](const CutLayer& layer) { return stays(layer) && (!layer.heads() || !layer.neurons()); },
        "no attention or no MLP would remain, but the model's own architecture requires both");
    model.refuseUnequalGroups(reasons);
    refuseVaryingShapes(model, reasons);
    const Layers cutHeads =
        model.layers([&](const CutLayer& layer) { return stays(layer) && layer.heads() != layer.spec.heads; });
    if (!cutHeads.empty() && format != "gguf") {
        if (!statesHeadSize(spec))
            reasons.push_back(fmt::format("transformers derives the head size of {} from the number of heads, so none "
                                          "can be removed",
                                          spec.architecture));
        const LayerMask& first = mask.layer(cutHeads.front());
        if (const int heads = first.keptHeads(); heads > 0 && spec.hidden % heads != 0)
            reasons.push_back(
                fmt::format("transformers 5 refuses {} heads: {} is not a multiple of that", heads, spec.hidden));
    }
    if (!spec.tiedGroups().empty())
        model.refuse(
            reasons, [](const CutLayer& layer) { return !layer.mask.block; },
            "the block shares its weights with others and cannot be removed alone");
    return reasons;
}

std::vector<std::string> deciLmReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view format) {
    if (!isLlamaLike(spec))
        return {fmt::format("DeciLM is a Llama-like model: {}; {} is not", llamaLike, spec.architecture)};
    const MaskedModel model(mask, spec);
    Reasons reasons;
    refuseGguf(reasons, format);
    model.refuse(
        reasons, [](const CutLayer& layer) { return layer.hasAttention() && layer.heads() != layer.spec.heads; },
        "some heads are cut, but DeciLM has one number of query heads for all layers");
    model.refuse(
        reasons, [](const CutLayer& layer) { return layer.spec.queryBias || layer.spec.valueBias; },
        "there are biases of queries or values, which DeciLM does not support");
    model.refuseBypass(reasons, "queries and keys are bypassed, which DeciLM runtimes ignore");
    return reasons;
}

std::vector<std::string> remoteCodeReasons(const PruningMask&, const ModelSpec&, std::string_view format) {
    Reasons reasons;
    refuseGguf(reasons, format);
    return reasons;
}

std::vector<std::string> paddedReasons(const PruningMask& mask, const ModelSpec& spec, std::string_view) {
    const MaskedModel model(mask, spec);
    Reasons reasons;
    refuseZeroedBypass(model, reasons);
    const bool isSmaller =
        !model.layers([](const CutLayer& layer) { return !layer.mask.block; }).empty() ||
        model.layers([&](const CutLayer& layer) { return layer.heads() == spec.maxHeads(); }).empty() ||
        model.layers([](const CutLayer& layer) { return layer.neurons() == layer.spec.ffn; }).empty();
    if (!isSmaller)
        reasons.emplace_back(
            "one layer keeps all its heads and one all its neurons: padded to these counts, nothing gets smaller");
    return reasons;
}

void checkExport(const ExportTarget& target, std::span<const ExportTarget> table, const PruningMask& mask,
                 const ModelSpec& spec, std::string_view format) {
    mask.checkFits(spec);
    const Reasons reasons = target.reasons(mask, spec, format);
    if (reasons.empty() && target.writer)
        return;
    std::vector<std::string> available, others;
    for (const ExportTarget& other : table)
        if (other.reasons(mask, spec, format).empty())
            (other.writer ? available : others).emplace_back(other.name);
    std::string hint = "No export target can hold this mask";
    if (!available.empty())
        hint = "Export it as " + join(available, " or ");
    else if (!others.empty())
        hint = fmt::format("Targets that can hold it are not available yet: {}", join(others, ", "));
    throw Error(fmt::format("cannot be exported as {}: {}", target.name,
                            reasons.empty() ? "the target is not available yet" : reasons.front()),
                {}, hint);
}

const ExportTarget* firstExportTarget(std::span<const ExportTarget> table, const PruningMask& mask,
                                      const ModelSpec& spec, std::string_view format) {
    const auto found = std::ranges::find_if(
        table, [&](const ExportTarget& target) { return target.writer && target.reasons(mask, spec, format).empty(); });
    return found == table.end() ? nullptr : &*found;
}

bool keepsEqualGroups(const LayerMask& mask, const LayerSpec& spec) {
    if (!mustKeepEqualGroups(mask, spec))
        return true;
    Counts counts = countsOf(mask, spec);
    std::erase(counts, 0);
    return std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) == counts.end();
}

LegalMask legalised(const PruningMask& mask, const ModelSpec& spec, LegaliseBy by) {
    LegalMask legal{mask, {}, {}};
    for (int index = 0; index < mask.layerCount(); ++index) {
        const LayerSpec& shape = spec.layers[static_cast<std::size_t>(index)];
        LayerMask layer = mask.layer(index);
        if (mask.tiedTo(index).front() != index || keepsEqualGroups(layer, shape))
            continue;
        const Counts before = countsOf(layer, shape);
        const int perGroup = shape.heads / shape.kvHeads;
        const Counts after = nearestLegal(before, perGroup, by);
        for (std::size_t group = 0; group < before.size(); ++group) {
            const int first = static_cast<int>(group) * perGroup;
            int change = after[group] - before[group];
            for (int i = 0; i < perGroup && change != 0; ++i) {
                const int head = change > 0 ? first + i : first + perGroup - 1 - i;
                auto kept = layer.heads[static_cast<std::size_t>(head)];
                if (kept == (change > 0))
                    continue;
                kept = change > 0;
                (change > 0 ? legal.kept : legal.cut).push_back({index, head});
                change += change > 0 ? -1 : 1;
            }
        }
        setEdited(legal.mask, index, layer);
    }
    return legal;
}

} // namespace secateur
