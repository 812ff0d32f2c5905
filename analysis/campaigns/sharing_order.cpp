#include "analysis/campaigns/campaign.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace secateur {

namespace {

/// Numbers for the masks of one layer: 0 for a layer that is kept whole, then in the order in which they appear.
std::vector<int> lettersOf(std::span<const PruningMask> masks, int layer) {
    std::vector<const LayerMask*> seen;
    std::vector<int> letters;
    for (const PruningMask& mask : masks) {
        const LayerMask& own = mask.layer(layer);
        if (own.keepsAll()) {
            letters.push_back(0);
            continue;
        }
        auto found = std::ranges::find_if(seen, [&](const LayerMask* other) { return *other == own; });
        if (found == seen.end())
            found = seen.insert(seen.end(), &own);
        letters.push_back(static_cast<int>(std::distance(seen.begin(), found)) + 1);
    }
    return letters;
}

} // namespace

std::vector<std::size_t> sharingOrder(std::span<const PruningMask> masks) {
    // Masks are words whose letters are the masks of their layers. In alphabetical order, the words before and after a
    // word have the longest beginnings in common with it.
    std::vector<std::vector<int>> words(masks.size());
    const int layers = masks.empty() ? 0 : masks.front().layerCount();
    for (int layer = 0; layer < layers; ++layer) {
        const std::vector<int> letters = lettersOf(masks, layer);
        for (std::size_t i = 0; i < words.size(); ++i)
            words[i].push_back(letters[i]);
    }
    std::vector<std::size_t> order(masks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return words[i]; });
    return order;
}

} // namespace secateur
