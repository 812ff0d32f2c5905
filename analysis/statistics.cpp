#include "analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace secateur {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> finite(std::span<const double> values) {
    std::vector<double> kept;
    std::copy_if(values.begin(), values.end(), std::back_inserter(kept), [](double v) { return std::isfinite(v); });
    return kept;
}

} // namespace

double percentile(std::span<const double> values, double percent) {
    std::vector<double> sorted = finite(values);
    if (sorted.empty())
        return nan;
    std::sort(sorted.begin(), sorted.end());
    const double place = percent / 100 * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(std::clamp(place, 0.0, static_cast<double>(sorted.size() - 1)));
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - static_cast<double>(below));
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

double finiteMean(std::span<const double> values) {
    const std::vector<double> kept = finite(values);
    return kept.empty() ? nan : std::accumulate(kept.begin(), kept.end(), 0.0) / static_cast<double>(kept.size());
}

std::pair<double, double> finiteRange(std::span<const double> values) {
    const std::vector<double> kept = finite(values);
    if (kept.empty())
        return {nan, nan};
    const auto [least, greatest] = std::minmax_element(kept.begin(), kept.end());
    return {*least, *greatest};
}

} // namespace secateur
