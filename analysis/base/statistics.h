#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace secateur {

/// Percentile of the finite values, linear between neighbours as numpy does. NaN when there is none.
/// @param percent 0 to 100
double percentile(std::span<const double> values, double percent);
/// Several at once. @param percents ascending
std::vector<double> percentiles(std::span<const double> values, std::span<const double> percents);

/// How many percent of the other finite values lie below one of them; NaN when it is alone.
double percentBelow(std::span<const double> values, double value);

/// Rank of each value among the finite ones, 1 = first to be cut; ties in order of position; 0 for NaN.
/// @param lowFirst whether the lowest value has rank 1
std::vector<int> ranks(std::span<const double> values, bool lowFirst);

/// Which values are not separated from some other one, so that the order of the two may be the other way round:
/// those nearer than twice the root of the sum of their squared errors (as Gate-Norm's estimates are compared). Two
/// exact values are always separated, also where they are equal; NaN is separated from everything.
/// @param errors standard errors, one for each value; 0 or NaN = exact
std::vector<bool> notSeparated(std::span<const double> values, std::span<const double> errors);

/// What a value that follows Student's t exceeds with 2.5 % probability, to 2e-4 of itself: a mean lies within so many
/// of its standard errors with 95 %. NaN for no degrees of freedom.
double studentQuantile(std::size_t degreesOfFreedom);

/// Mean of the finite values; NaN when there is none.
double finiteMean(std::span<const double> values);

/// Least and greatest finite value; NaN, NaN when there is none.
std::pair<double, double> finiteRange(std::span<const double> values);

/// How many finite values lie between neighbouring edges; the last bin holds the greatest value too.
struct Histogram {
    std::vector<double> edges; ///< one more than counts, ascending; empty when there is no value
    std::vector<double> counts;
};

/// As many bins of equal width as Rice's rule gives: twice the cube root of the number of values.
/// @param logarithmic bins of equal ratio; values that are not positive are left out
Histogram histogram(std::span<const double> values, bool logarithmic);

} // namespace secateur
