#include "analysis/export/export_target.h"

#include "analysis/masks/mask_algebra.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <optional>

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

} // namespace

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
