#include "analysis/base/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace secateur {

namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

std::vector<double> finite(std::span<const double> values) {
    std::vector<double> kept;
    std::copy_if(values.begin(), values.end(), std::back_inserter(kept), [](double v) { return std::isfinite(v); });
    return kept;
}

struct Pair {
    double x = 0;
    double y = 0;
    auto operator<=>(const Pair&) const = default;
};

std::uint64_t pairsOf(std::uint64_t count) {
    return count < 2 ? 0 : count * (count - 1) / 2;
}

/// Number of pairs of equal elements in a sorted list.
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

/// Sorts by y. Counts the pairs of elements whose order changes.
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

/// Kendall's tau-b, computed as in Knight, "A computer method for calculating Kendall's tau with ungrouped data"
/// (1966).
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
    return most > 0 ? std::clamp(surplus / most, -1.0, 1.0) : undefined;
}

/// Pearson's correlation coefficient.
double linearCorrelation(std::span<const double> x, std::span<const double> y) {
    const auto count = static_cast<double>(x.size());
    const double meanX = std::accumulate(x.begin(), x.end(), 0.0) / count;
    const double meanY = std::accumulate(y.begin(), y.end(), 0.0) / count;
    double products = 0;
    double squaresX = 0;
    double squaresY = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        products += (x[i] - meanX) * (y[i] - meanY);
        squaresX += (x[i] - meanX) * (x[i] - meanX);
        squaresY += (y[i] - meanY) * (y[i] - meanY);
    }
    const double most = std::sqrt(squaresX) * std::sqrt(squaresY);
    return most > 0 ? std::clamp(products / most, -1.0, 1.0) : undefined;
}

} // namespace

double percentile(std::span<const double> values, double percent) {
    return percentiles(values, std::span(&percent, 1)).front();
}

std::vector<double> percentiles(std::span<const double> values, std::span<const double> percents) {
    std::vector<double> kept = finite(values);
    std::vector<double> found;
    auto begin = kept.begin(); // begin of the rest; nth_element has put all lower values in front of it
    for (const double percent : percents) {
        if (kept.empty()) {
            found.push_back(undefined);
            continue;
        }
        const double last = static_cast<double>(kept.size() - 1);
        const double place = std::clamp(percent / 100 * last, 0.0, last);
        const auto below = kept.begin() + static_cast<std::ptrdiff_t>(place);
        std::nth_element(begin, below, kept.end());
        const double next = below + 1 == kept.end() ? *below : *std::min_element(below + 1, kept.end());
        found.push_back(*below + (next - *below) * (place - std::floor(place)));
        begin = below;
    }
    return found;
}

double percentBelow(std::span<const double> values, double value) {
    const auto others = std::count_if(values.begin(), values.end(), [](double v) { return std::isfinite(v); }) - 1;
    if (others < 1)
        return undefined;
    const auto below = std::count_if(values.begin(), values.end(), [&](double v) { return v < value; });
    return 100 * static_cast<double>(below) / static_cast<double>(others);
}

std::vector<int> ranks(std::span<const double> values, bool lowFirst) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isnan(values[i]))
            order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return lowFirst ? values[a] < values[b] : values[a] > values[b];
    });
    std::vector<int> rank(values.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i)
        rank[order[i]] = static_cast<int>(i) + 1;
    return rank;
}

std::vector<bool> notSeparated(std::span<const double> values, std::span<const double> errors) {
    const auto errorOf = [&](std::size_t i) { return std::isfinite(errors[i]) ? errors[i] : 0; };
    std::vector<std::size_t> order;
    double largest = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i]))
            continue;
        order.push_back(i);
        largest = std::max(largest, errorOf(i));
    }
    std::vector<bool> marked(values.size(), false);
    if (largest == 0)
        return marked;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
    for (std::size_t at = 0; at < order.size(); ++at) {
        const std::size_t a = order[at];
        const double reach = 2 * std::hypot(errorOf(a), largest); // values at a larger distance are separated
        for (std::size_t next = at + 1; next < order.size(); ++next) {
            const std::size_t b = order[next];
            const double apart = values[b] - values[a];
            if (apart >= reach)
                break;
            if (apart < 2 * std::hypot(errorOf(a), errorOf(b)))
                marked[a] = marked[b] = true;
        }
    }
    return marked;
}

double studentQuantile(std::size_t degreesOfFreedom) {
    constexpr std::array few{12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004};
    if (degreesOfFreedom == 0)
        return undefined;
    if (degreesOfFreedom <= few.size())
        return few[degreesOfFreedom - 1];
    // Cornish-Fisher expansion around the normal quantile (Abramowitz and Stegun 26.7.5).
    constexpr double z = 1.959963985;
    constexpr double z2 = z * z;
    const double n = 1 / static_cast<double>(degreesOfFreedom);
    const double first = z * (z2 + 1) / 4;
    const double second = z * ((5 * z2 + 16) * z2 + 3) / 96;
    const double third = z * (((3 * z2 + 19) * z2 + 17) * z2 - 15) / 384;
    return z + n * (first + n * (second + n * third));
}

double finiteMean(std::span<const double> values) {
    const std::vector<double> kept = finite(values);
    return kept.empty() ? undefined : std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
}

std::pair<double, double> finiteRange(std::span<const double> values) {
    const std::vector<double> kept = finite(values);
    if (kept.empty())
        return {undefined, undefined};
    const auto [least, greatest] = std::minmax_element(kept.begin(), kept.end());
    return {*least, *greatest};
}

Histogram histogram(std::span<const double> values, bool logarithmic) {
    std::vector<double> kept = finite(values);
    if (logarithmic) {
        std::erase_if(kept, [](double value) { return value <= 0; });
        std::transform(kept.begin(), kept.end(), kept.begin(), [](double value) { return std::log(value); });
    }
    if (kept.empty())
        return {};
    auto [least, greatest] = finiteRange(kept);
    if (!(greatest > least)) { // all values are equal: make a range around them
        const double room = logarithmic || least == 0 ? 0.5 : std::abs(least) / 4;
        least -= room;
        greatest += room;
    }
    const auto bins = static_cast<std::size_t>(std::ceil(2 * std::cbrt(static_cast<double>(kept.size()))));
    const double width = (greatest - least) / static_cast<double>(bins);
    Histogram made{{}, std::vector<double>(bins, 0.0)};
    for (std::size_t edge = 0; edge <= bins; ++edge) {
        const double at = edge == bins ? greatest : least + width * static_cast<double>(edge);
        made.edges.push_back(logarithmic ? std::exp(at) : at);
    }
    for (const double value : kept)
        ++made.counts[std::min(static_cast<std::size_t>((value - least) / width), bins - 1)];
    return made;
}

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
