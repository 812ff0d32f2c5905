#include "analysis/masks/mask_algebra.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// A mask in which all units of dropped sublayers and blocks are marked as cut, and both sublayers of a dropped block
/// as dropped.
LayerMask expanded(LayerMask layer) {
    if (!layer.block) {
        layer.attention = AttentionCut::drop;
        layer.mlp = false;
    }
    if (layer.attention == AttentionCut::drop)
        layer.heads.assign(layer.heads.size(), false);
    if (!layer.mlp)
        layer.neurons.assign(layer.neurons.size(), false);
    return layer;
}

/// How much of the attention a mask cuts, as a value that can be compared: keep < bypass with a large alpha < bypass
/// with a small alpha < drop.
std::pair<int, double> strength(const LayerMask& layer) {
    switch (layer.attention) {
    case AttentionCut::keep:
        return {0, 0};
    case AttentionCut::bypassQk:
        return {1, -layer.alpha};
    case AttentionCut::drop:
        return {2, 0};
    }
    return {0, 0};
}

void takeAttention(LayerMask& to, const LayerMask& from) {
    to.attention = from.attention;
    to.alpha = from.alpha;
}

template <typename Combine>
std::vector<bool> combined(const std::vector<bool>& a, const std::vector<bool>& b, Combine combine) {
    std::vector<bool> result(a.size());
    std::transform(a.begin(), a.end(), b.begin(), result.begin(), combine);
    return result;
}

LayerMask united(const LayerMask& a, const LayerMask& b) {
    const std::logical_and<> both;
    LayerMask result{combined(a.heads, b.heads, both), combined(a.neurons, b.neurons, both)};
    takeAttention(result, strength(a) < strength(b) ? b : a);
    result.mlp = a.mlp && b.mlp;
    result.block = a.block && b.block;
    return result;
}

LayerMask met(const LayerMask& a, const LayerMask& b) {
    const std::logical_or<> either;
    LayerMask result{combined(a.heads, b.heads, either), combined(a.neurons, b.neurons, either)};
    takeAttention(result, strength(a) < strength(b) ? a : b);
    result.mlp = a.mlp || b.mlp;
    result.block = a.block || b.block;
    return result;
}

bool cutsAny(const std::vector<bool>& kept) {
    return std::ranges::find(kept, false) != kept.end();
}

LayerMask subtracted(const LayerMask& a, const LayerMask& b) {
    const auto restored = [](bool keptByA, bool keptByB) { return keptByA || !keptByB; };
    LayerMask result{combined(a.heads, b.heads, restored), combined(a.neurons, b.neurons, restored)};
    const bool dropStays = a.attention != AttentionCut::drop || !cutsAny(b.heads);
    if (b.attention == AttentionCut::keep && dropStays)
        takeAttention(result, a);
    result.mlp = a.mlp || !b.mlp || cutsAny(b.neurons);
    result.block = a.block || b.hasCuts();
    return result;
}

/// Whether expanded masks have the same cuts in the attention.
bool cutAttentionEqually(const LayerMask& a, const LayerMask& b) {
    return a.heads == b.heads && a.attention == b.attention && a.alpha == b.alpha;
}

/// Whether expanded masks have the same cuts in the MLP.
bool cutMlpEqually(const LayerMask& a, const LayerMask& b) {
    return a.neurons == b.neurons && a.mlp == b.mlp;
}

using ChoosePart = LayerCompensation (*)(const CompensatedPart&, const CompensatedPart&);

/// The compensation of a combined layer. @param a, b expanded masks @param result expanded
std::shared_ptr<const LayerCompensation> chosenCompensation(const LayerMask& a, const LayerMask& b,
                                                            const LayerMask& result, ChoosePart choose) {
    if (!a.compensation && !b.compensation)
        return nullptr;
    const LayerCompensation& ofA = compensationOf(a);
    const LayerCompensation& ofB = compensationOf(b);
    return joinedCompensation(choose({ofA.ofAttention(), cutAttentionEqually(a, result)},
                         {ofB.ofAttention(), cutAttentionEqually(b, result)}),
                  choose({ofA.ofMlp(), cutMlpEqually(a, result)}, {ofB.ofMlp(), cutMlpEqually(b, result)}));
}

PruningMask byLayer(const PruningMask& a, const PruningMask& b,
                    LayerMask (*combine)(const LayerMask&, const LayerMask&), ChoosePart choose) {
    if (a.architecture() != b.architecture() || a.structure() != b.structure())
        throw Error(fmt::format("Masks of unlike models are not combined: one is made for {} {}, the other for {} {}",
                                a.architecture(), a.structure(), b.architecture(), b.structure()));
    PruningMask result = a;
    for (int layer = 0; layer < a.layerCount(); ++layer) {
        const LayerMask ofA = expanded(a.layer(layer));
        const LayerMask ofB = expanded(b.layer(layer));
        LayerMask made = combine(ofA, ofB);
        made.compensation = chosenCompensation(ofA, ofB, expanded(made), choose);
        result.setLayer(layer, std::move(made));
    }
    return result;
}

/// Applies `change` to the mask of a layer. All units of dropped sublayers and blocks are marked as cut in it.
template <typename Edit>
void edit(PruningMask& mask, int index, Edit change) {
    LayerMask layer = expanded(mask.layer(index));
    change(layer);
    setEdited(mask, index, std::move(layer));
}

void bringBackAttention(LayerMask& layer) {
    layer.block = true;
    if (layer.attention == AttentionCut::drop)
        layer.attention = AttentionCut::keep;
}

void bringBackMlp(LayerMask& layer) {
    layer.block = layer.mlp = true;
}

template <typename Indices>
void mark(std::vector<bool>& marks, const Indices& indices, bool kept) {
    for (const int index : indices)
        marks.at(static_cast<std::size_t>(index)) = kept;
}

/// The query heads of a KV group.
std::vector<int> headsOf(const LayerSpec& layer, int group) {
    const int perGroup = layer.heads / layer.kvHeads;
    std::vector<int> heads;
    for (int head = group * perGroup; head < (group + 1) * perGroup; ++head)
        heads.push_back(head);
    return heads;
}

/// The cut units as text: "heads 0, 4, 7-9", "head 2", or "201 of 1536 neurons" if the list would be long. Empty if
/// none is cut.
std::string cutsOf(const char* unit, const std::vector<bool>& kept) {
    constexpr std::size_t mostRanges = 16;
    std::vector<std::string> ranges;
    for (std::size_t begin = 0, end = 0; begin < kept.size(); begin = end + 1) {
        end = begin;
        if (kept[begin])
            continue;
        while (end + 1 < kept.size() && !kept[end + 1])
            ++end;
        ranges.push_back(begin == end ? std::to_string(begin) : fmt::format("{}-{}", begin, end));
    }
    const auto count = std::ranges::count(kept, false);
    if (ranges.size() > mostRanges)
        return fmt::format("{} of {} {}s", count, kept.size(), unit);
    return ranges.empty() ? std::string() : fmt::format("{}{} {}", unit, count == 1 ? "" : "s", join(ranges, ", "));
}

} // namespace

PruningMask unionOf(const PruningMask& a, const PruningMask& b) {
    return byLayer(a, b, united, partOfUnion);
}

PruningMask intersectionOf(const PruningMask& a, const PruningMask& b) {
    return byLayer(a, b, met, partOfIntersection);
}

PruningMask subtraction(const PruningMask& from, const PruningMask& what) {
    return byLayer(from, what, subtracted, partOfSubtraction);
}

PruningMask symmetricDifference(const PruningMask& a, const PruningMask& b) {
    return unionOf(subtraction(a, b), subtraction(b, a));
}

MaskDifference differenceOf(const PruningMask& first, const PruningMask& second) {
    return {subtraction(first, second), subtraction(second, first), intersectionOf(first, second)};
}

std::string_view name(CutUnit unit) {
    switch (unit) {
    case CutUnit::head:
        return "head";
    case CutUnit::kvGroup:
        return "kv_group";
    case CutUnit::neuron:
        return "neuron";
    case CutUnit::attention:
        return "attention";
    case CutUnit::mlp:
        return "mlp";
    case CutUnit::block:
        return "block";
    }
    return "";
}

std::optional<CutUnit> cutUnitOf(std::string_view text) {
    for (const CutUnit unit : {CutUnit::head, CutUnit::kvGroup, CutUnit::neuron, CutUnit::attention, CutUnit::mlp,
                               CutUnit::block})
        if (name(unit) == text)
            return unit;
    return std::nullopt;
}

std::string_view plural(CutUnit unit) {
    switch (unit) {
    case CutUnit::head:
        return "heads";
    case CutUnit::kvGroup:
        return "KV groups";
    case CutUnit::neuron:
        return "neurons";
    case CutUnit::attention:
        return "attention sublayers";
    case CutUnit::mlp:
        return "MLPs";
    case CutUnit::block:
        return "blocks";
    }
    return "";
}

int unitsIn(const LayerSpec& layer, CutUnit unit) {
    switch (unit) {
    case CutUnit::head:
        return layer.kvHeads > 0 ? layer.heads : 0;
    case CutUnit::kvGroup:
        return layer.kvHeads;
    case CutUnit::neuron:
        return layer.ffn;
    case CutUnit::attention:
        return layer.attention == AttentionKind::none ? 0 : 1;
    case CutUnit::mlp:
        return layer.ffn > 0 ? 1 : 0;
    case CutUnit::block:
        return 1;
    }
    return 0;
}

bool isCut(const PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, int index) {
    const LayerMask& own = mask.layer(layer);
    const auto at = static_cast<std::size_t>(index);
    const bool isDropped = !own.block || own.attention == AttentionCut::drop;
    switch (unit) {
    case CutUnit::head:
        return isDropped || !own.heads.at(at);
    case CutUnit::kvGroup:
        return isDropped ||
               std::ranges::none_of(headsOf(spec.layers.at(static_cast<std::size_t>(layer)), index),
                                    [&](int head) { return own.heads.at(static_cast<std::size_t>(head)); });
    case CutUnit::neuron:
        return !own.block || !own.mlp || !own.neurons.at(at);
    case CutUnit::attention:
        return !own.block || own.attention != AttentionCut::keep;
    case CutUnit::mlp:
        return !own.block || !own.mlp;
    case CutUnit::block:
        return !own.block;
    }
    return false;
}

PruningMask inversionOf(const PruningMask& mask, CutUnit unit, const ModelSpec& spec) {
    mask.checkFits(spec);
    PruningMask result(spec);
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        std::vector<int> kept;
        for (int index = 0; index < unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit); ++index)
            if (!isCut(mask, spec, unit, layer, index))
                kept.push_back(index);
        cutUnits(result, spec, unit, layer, kept);
    }
    return result;
}

void setEdited(PruningMask& mask, int layer, LayerMask edited) {
    if (edited.compensation) {
        const LayerMask before = expanded(mask.layer(layer));
        const LayerMask after = expanded(edited);
        const LayerCompensation& own = compensationOf(edited);
        edited.compensation =
            joinedCompensation(cutAttentionEqually(before, after) ? own.ofAttention() : LayerCompensation(),
                   cutMlpEqually(before, after) ? own.ofMlp() : LayerCompensation());
    }
    mask.setLayer(layer, std::move(edited));
}

void setHeads(PruningMask& mask, std::span<const HeadId> heads, bool kept) {
    std::map<int, std::vector<int>> byLayer;
    for (const HeadId& head : heads)
        byLayer[head.layer].push_back(head.head);
    for (const auto& item : byLayer)
        edit(mask, item.first, [&](LayerMask& layer) {
            mark(layer.heads, item.second, kept);
            if (kept)
                bringBackAttention(layer);
        });
}

void setNeurons(PruningMask& mask, int layer, std::span<const int> neurons, bool kept) {
    if (neurons.empty())
        return;
    edit(mask, layer, [&](LayerMask& own) {
        mark(own.neurons, neurons, kept);
        if (kept)
            bringBackMlp(own);
    });
}

void setAttention(PruningMask& mask, int layer, bool kept) {
    edit(mask, layer, [kept](LayerMask& own) {
        own.attention = kept ? AttentionCut::keep : AttentionCut::drop;
        own.heads.assign(own.heads.size(), kept);
        own.block = own.block || kept;
    });
}

void setMlp(PruningMask& mask, int layer, bool kept) {
    edit(mask, layer, [kept](LayerMask& own) {
        own.mlp = kept;
        own.neurons.assign(own.neurons.size(), kept);
        own.block = own.block || kept;
    });
}

void setBlock(PruningMask& mask, int layer, bool kept) {
    edit(mask, layer, [kept](LayerMask& own) {
        own.heads.assign(own.heads.size(), true);
        own.neurons.assign(own.neurons.size(), true);
        own.attention = AttentionCut::keep;
        own.mlp = true;
        own.block = kept;
    });
}

void bypassAttention(PruningMask& mask, int layer, double alpha) {
    edit(mask, layer, [alpha](LayerMask& own) {
        if (own.attention == AttentionCut::drop)
            own.heads.assign(own.heads.size(), true);
        own.attention = AttentionCut::bypassQk;
        own.alpha = alpha;
        own.block = true;
    });
}

void cutUnits(PruningMask& mask, const ModelSpec& spec, CutUnit unit, int layer, std::span<const int> indices) {
    if (indices.empty())
        return;
    const LayerSpec& own = spec.layers.at(static_cast<std::size_t>(layer));
    switch (unit) {
    case CutUnit::head:
        edit(mask, layer, [&](LayerMask& cut) { mark(cut.heads, indices, false); });
        return;
    case CutUnit::kvGroup:
        edit(mask, layer, [&](LayerMask& cut) {
            for (const int group : indices)
                mark(cut.heads, headsOf(own, group), false);
        });
        return;
    case CutUnit::neuron:
        return setNeurons(mask, layer, indices, false);
    case CutUnit::attention:
        return setAttention(mask, layer, false);
    case CutUnit::mlp:
        return setMlp(mask, layer, false);
    case CutUnit::block:
        return setBlock(mask, layer, false);
    }
}

PruningMask grownToKvGroups(const PruningMask& mask, const ModelSpec& spec) {
    mask.checkFits(spec);
    PruningMask result = mask;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
        std::vector<int> groups;
        for (int head = 0; head < unitsIn(own, CutUnit::head); ++head)
            if (isCut(mask, spec, CutUnit::head, layer, head) && (groups.empty() || groups.back() != own.kvGroup(head)))
                groups.push_back(own.kvGroup(head));
        cutUnits(result, spec, CutUnit::kvGroup, layer, groups);
    }
    return result;
}

std::string description(const LayerMask& layer) {
    if (!layer.block)
        return "block dropped";
    std::vector<std::string> cuts;
    if (layer.attention == AttentionCut::drop)
        cuts.emplace_back("attention dropped");
    if (layer.attention == AttentionCut::bypassQk)
        cuts.push_back("attention bypassed with alpha " + exactly(layer.alpha));
    const auto add = [&](const char* unit, const std::vector<bool>& kept) {
        if (std::string units = cutsOf(unit, kept); !units.empty())
            cuts.push_back(std::move(units));
    };
    add("head", layer.heads);
    if (!layer.mlp)
        cuts.emplace_back("MLP dropped");
    add("neuron", layer.neurons);
    if (layer.compensation)
        cuts.emplace_back("compensated");
    return join(cuts, "; ");
}

} // namespace secateur
