#include "analysis/base/known_ids.h"

#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>

namespace secateur {

namespace {

/// Number of letters to insert, remove, change or swap with the next one to turn one text into another.
std::size_t editDistance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> distance(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        distance[i][0] = i;
    std::iota(distance[0].begin(), distance[0].end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i)
        for (std::size_t j = 1; j <= b.size(); ++j) {
            std::size_t& least = distance[i][j];
            least = std::min({distance[i - 1][j] + 1, distance[i][j - 1] + 1,
                              distance[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                least = std::min(least, distance[i - 2][j - 2] + 1);
        }
    return distance[a.size()][b.size()];
}

/// The known id that was probably meant: the nearest one, if at most a third of its letters differ, or else the only
/// one that begins with the text. Empty if there is none.
std::string_view probablyMeant(std::string_view id, const std::vector<std::string_view>& known) {
    constexpr std::size_t longest = 100; // a longer text is no misspelt id
    if (id.empty() || id.size() > longest || known.empty())
        return {};
    const auto distanceTo = [&](std::string_view other) { return editDistance(id, other); };
    const std::string_view nearest = *std::ranges::min_element(known, {}, distanceTo);
    if (nearest == id) // a word that is known, but not in this place
        return {};
    if (3 * distanceTo(nearest) <= nearest.size())
        return nearest;
    const auto begins = [&](std::string_view other) { return other.starts_with(id); };
    return std::ranges::count_if(known, begins) == 1 ? *std::ranges::find_if(known, begins) : std::string_view();
}

} // namespace

void refuseUnknown(std::string_view what, std::string_view id, const std::vector<std::string_view>& known) {
    const std::string_view meant = probablyMeant(id, known);
    throw UsageError(fmt::format("Unknown {} \"{}\"", what, id), {},
                     meant.empty() ? fmt::format("The known ones are {}", fmt::join(known, ", "))
                                   : fmt::format("Did you mean {}?", meant));
}

} // namespace secateur
