#pragma once

#include <span>
#include <utility>
#include <vector>

namespace secateur {

/// Percentile of the finite values, linear between neighbours as numpy does. NaN when there is none.
/// @param percent 0 to 100
double percentile(std::span<const double> values, double percent);

/// Rank of each value among the finite ones, 1 = first to be cut; ties in order of position; 0 for NaN.
/// @param lowFirst whether the lowest value has rank 1
std::vector<int> ranks(std::span<const double> values, bool lowFirst);

/// Mean of the finite values; NaN when there is none.
double finiteMean(std::span<const double> values);

/// Least and greatest finite value; NaN, NaN when there is none.
std::pair<double, double> finiteRange(std::span<const double> values);

} // namespace secateur
