#include "analysis/export/export_target.h"

#include "analysis/masks/mask_algebra.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

namespace secateur {

namespace {

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
/// group. @param least for each group, the number of heads that must not be cut
std::optional<LegalCounts> nearestCounts(const Counts& counts, const Counts& least, int wanted, LegaliseBy by) {
    LegalCounts choice;
    for (std::size_t group = 0; group < counts.size(); ++group) {
        const int count = counts[group];
        std::optional<int> best;
        for (const int after : {wanted, 0})
            if (after >= least[group] && allows(by, count, after) &&
                (!best || std::abs(after - count) < std::abs(*best - count)))
                best = after;
        if (!best)
            return std::nullopt;
        choice.changes += std::abs(*best - count);
        choice.counts.push_back(*best);
    }
    return choice;
}

/// Empty if there are no legal counts.
std::optional<Counts> nearestLegal(const Counts& counts, const Counts& least, int perGroup, LegaliseBy by) {
    std::optional<LegalCounts> best;
    // Tries large numbers first. Of equally small changes, the one that keeps more heads is then chosen.
    for (int wanted = perGroup; wanted >= 1; --wanted)
        if (auto choice = nearestCounts(counts, least, wanted, by);
            choice && (!best || choice->changes < best->changes))
            best = std::move(choice);
    return best ? std::optional(std::move(best->counts)) : std::nullopt;
}

/// Changes the counts of a layer's KV groups. Restores the first cut heads, or cuts the last heads that are not
/// protected.
void setCounts(LayerMask& mask, const Counts& before, const Counts& after, int perGroup,
               const std::function<bool(int head)>& isProtected) {
    for (std::size_t group = 0; group < before.size(); ++group) {
        const int first = static_cast<int>(group) * perGroup;
        int change = after[group] - before[group];
        for (int i = 0; i < perGroup && change != 0; ++i) {
            const int head = change > 0 ? first + i : first + perGroup - 1 - i;
            auto kept = mask.heads[static_cast<std::size_t>(head)];
            if (kept == (change > 0) || (kept && isProtected(head)))
                continue;
            kept = change > 0;
            change += change > 0 ? -1 : 1;
        }
    }
}

/// Lists the heads that only one of two masks of a layer cuts, by themselves or with their sublayer or block.
void addDifferences(LegalMask& legal, const LayerMask& before, const LayerMask& after, int layer) {
    for (std::size_t head = 0; head < before.heads.size(); ++head) {
        const bool wasKept = before.heads[head] && !dropsAttention(before);
        const bool isKept = after.heads[head] && !dropsAttention(after);
        if (wasKept != isKept)
            (isKept ? legal.kept : legal.cut).push_back({layer, static_cast<int>(head)});
    }
}

} // namespace

bool keepsEqualGroups(const LayerMask& mask, const LayerSpec& spec) {
    if (!mustKeepEqualGroups(mask, spec))
        return true;
    Counts counts = countsOf(mask, spec);
    std::erase(counts, 0);
    return std::ranges::adjacent_find(counts, std::ranges::not_equal_to()) == counts.end();
}

LegalMask legalised(const PruningMask& mask, const ModelSpec& spec, LegaliseBy by, const Protection& isProtected) {
    LegalMask legal{mask, {}, {}, {}};
    if (!isProtected.empty())
        isProtected.restore(legal.mask);
    for (int index = 0; index < mask.layerCount(); ++index) {
        if (mask.tiedTo(index).front() != index)
            continue;
        const LayerSpec& shape = spec.layers[static_cast<std::size_t>(index)];
        LayerMask layer = legal.mask.layer(index);
        if (!keepsEqualGroups(layer, shape)) {
            const auto isKept = [&](int head) { return isProtected.has({index, head}); };
            const Counts before = countsOf(layer, shape);
            Counts least(before.size());
            for (int head = 0; head < shape.heads; ++head)
                least[static_cast<std::size_t>(shape.kvGroup(head))] += isKept(head) ? 1 : 0;
            const int perGroup = shape.heads / shape.kvHeads;
            auto after = nearestLegal(before, least, perGroup, by);
            if (!after) {
                legal.restoredLayers.push_back(index);
                after = nearestLegal(before, least, perGroup, LegaliseBy::either);
            }
            setCounts(layer, before, after.value(), perGroup, isKept);
            setEdited(legal.mask, index, layer);
        }
        addDifferences(legal, mask.layer(index), layer, index);
    }
    return legal;
}

} // namespace secateur
