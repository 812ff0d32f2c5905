#include "analysis/base/rank_correlation.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace secateur {

namespace {

struct Pair {
    double x = 0;
    double y = 0;
    auto operator<=>(const Pair&) const = default;
};

std::uint64_t pairsOf(std::uint64_t count) {
    return count < 2 ? 0 : count * (count - 1) / 2;
}

/// Pairs of neighbours that are the same in a sorted list.
template <typename Same>
std::uint64_t tiedPairs(std::span<const Pair> sorted, Same isSame) {
    std::uint64_t tied = 0;
    std::uint64_t run = 1;
    for (std::size_t i = 1; i <= sorted.size(); ++i) {
        if (i < sorted.size() && isSame(sorted[i - 1], sorted[i])) {
            ++run;
            continue;
        }
        tied += pairsOf(run);
        run = 1;
    }
    return tied;
}

/// Sorts by y and counts the pairs that stood the other way round.
std::uint64_t countInversions(std::span<Pair> pairs, std::vector<Pair>& scratch) {
    if (pairs.size() < 2)
        return 0;
    const std::size_t half = pairs.size() / 2;
    std::uint64_t inversions = countInversions(pairs.first(half), scratch);
    inversions += countInversions(pairs.subspan(half), scratch);
    scratch.clear();
    std::size_t left = 0;
    std::size_t right = half;
    while (left < half && right < pairs.size()) {
        if (pairs[right].y < pairs[left].y) {
            inversions += half - left;
            scratch.push_back(pairs[right++]);
        } else {
            scratch.push_back(pairs[left++]);
        }
    }
    std::copy_n(pairs.begin() + static_cast<std::ptrdiff_t>(left), half - left, std::back_inserter(scratch));
    std::ranges::copy(scratch, pairs.begin());
    return inversions;
}

/// Knight, "A computer method for calculating Kendall's tau with ungrouped data" (1966).
double kendallTauB(std::vector<Pair> pairs) {
    std::ranges::sort(pairs);
    const std::uint64_t all = pairsOf(pairs.size());
    const std::uint64_t sameX = tiedPairs(pairs, [](const Pair& a, const Pair& b) { return a.x == b.x; });
    const std::uint64_t sameBoth = tiedPairs(pairs, [](const Pair& a, const Pair& b) { return a == b; });
    std::vector<Pair> scratch;
    scratch.reserve(pairs.size());
    const std::uint64_t discordant = countInversions(pairs, scratch);
    const std::uint64_t sameY = tiedPairs(pairs, [](const Pair& a, const Pair& b) { return a.y == b.y; });
    const double surplus =
        static_cast<double>(all - sameX + sameBoth) - static_cast<double>(sameY) - 2 * static_cast<double>(discordant);
    const double most = std::sqrt(static_cast<double>(all - sameX)) * std::sqrt(static_cast<double>(all - sameY));
    return most > 0 ? std::clamp(surplus / most, -1.0, 1.0) : std::numeric_limits<double>::quiet_NaN();
}

/// Pearson's correlation.
double linearCorrelation(std::span<const double> x, std::span<const double> y) {
    const auto count = static_cast<double>(x.size());
    const double meanX = std::accumulate(x.begin(), x.end(), 0.0) / count;
    const double meanY = std::accumulate(y.begin(), y.end(), 0.0) / count;
    double together = 0;
    double ofX = 0;
    double ofY = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        together += (x[i] - meanX) * (y[i] - meanY);
        ofX += (x[i] - meanX) * (x[i] - meanX);
        ofY += (y[i] - meanY) * (y[i] - meanY);
    }
    const double most = std::sqrt(ofX) * std::sqrt(ofY);
    return most > 0 ? std::clamp(together / most, -1.0, 1.0) : std::numeric_limits<double>::quiet_NaN();
}

} // namespace

RankCorrelation rankCorrelation(std::span<const double> x, std::span<const double> y) {
    std::vector<Pair> pairs;
    std::vector<double> keptX;
    std::vector<double> keptY;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!std::isfinite(x[i]) || !std::isfinite(y[i]))
            continue;
        pairs.push_back({x[i], y[i]});
        keptX.push_back(x[i]);
        keptY.push_back(y[i]);
    }
    RankCorrelation result;
    result.count = pairs.size();
    if (result.count < 2)
        return result;
    result.spearman = linearCorrelation(averageRanks(keptX), averageRanks(keptY));
    result.kendall = kendallTauB(std::move(pairs));
    return result;
}

std::vector<double> averageRanks(std::span<const double> values) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (std::isfinite(values[i]))
            order.push_back(i);
    std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> ranks(values.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t first = 0; first < order.size();) {
        std::size_t end = first + 1;
        while (end < order.size() && values[order[end]] == values[order[first]])
            ++end;
        const double shared = static_cast<double>(first + 1 + end) / 2;
        for (; first < end; ++first)
            ranks[order[first]] = shared;
    }
    return ranks;
}

} // namespace secateur
