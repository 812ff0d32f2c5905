#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace secateur {

/// How far two measurements put the same things in the same order.
struct RankCorrelation {
    double spearman = std::numeric_limits<double>::quiet_NaN(); ///< of average ranks, -1 to 1
    double kendall = std::numeric_limits<double>::quiet_NaN();  ///< tau-b, which allows for ties, -1 to 1
    std::size_t count = 0;                                      ///< pairs that were compared
};

/// Of the pairs that are finite on both sides; the others are left out. Both are NaN for fewer than two such pairs, and
/// where all values of one side are the same. O(n log n).
/// @param y as many as x
RankCorrelation rankCorrelation(std::span<const double> x, std::span<const double> y);

/// Ranks from 1 = least to as many as there are finite values; equal ones share the mean of theirs. NaN for what is not
/// finite.
std::vector<double> averageRanks(std::span<const double> values);

} // namespace secateur
