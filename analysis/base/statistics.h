#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace secateur {

/// Percentile of the finite values, with numpy's linear interpolation. NaN if there are none.
/// @param percent 0 to 100
double percentile(std::span<const double> values, double percent);
/// Several percentiles at once. @param percents ascending
std::vector<double> percentiles(std::span<const double> values, std::span<const double> percents);

/// Percentage of the other finite values that are below `value`, itself one of `values`. NaN if there are no others.
double percentBelow(std::span<const double> values, double value);

/// Rank of each value, 1 = first to be cut; of equal values the earlier one has the lower rank. NaN has no rank: 0.
/// @param lowFirst whether the lowest value has rank 1
std::vector<int> ranks(std::span<const double> values, bool lowFirst);

/// Whether each value is so near to another one that their true order may be the reverse: they differ by less than
/// twice the root of the sum of their squared errors (the criterion of Gate-Norm's estimates). Two exact values are
/// always separated, even if they are equal; NaN is separated from everything.
/// @param errors standard errors, one for each value; 0 or NaN = exact
std::vector<bool> notSeparated(std::span<const double> values, std::span<const double> errors);

/// 97.5th percentile of Student's t distribution, with a relative error of at most 2e-4. The 95 % confidence interval
/// of a mean reaches this many standard errors to either side. NaN for 0 degrees of freedom.
double studentQuantile(std::size_t degreesOfFreedom);

/// Mean of the finite values; NaN if there are none.
double finiteMean(std::span<const double> values);

/// Least and greatest finite value; NaN, NaN if there are none.
std::pair<double, double> finiteRange(std::span<const double> values);

/// Number of finite values in each bin. A bin includes its lower edge, the last bin its upper edge too.
struct Histogram {
    std::vector<double> edges; ///< of the bins, ascending, one more than `counts`; empty if there are no values
    std::vector<double> counts;
};

/// Bins of equal width. Their number follows Rice's rule: twice the cube root of the number of values.
/// @param logarithmic whether all bins have the same ratio of their edges; values up to 0 are then left out
Histogram histogram(std::span<const double> values, bool logarithmic);

/// How well the orders of two measurements agree.
struct RankCorrelation {
    double spearman = std::numeric_limits<double>::quiet_NaN(); ///< with averageRanks(), -1 to 1
    double kendall = std::numeric_limits<double>::quiet_NaN();  ///< tau-b, which allows for ties, -1 to 1
    std::size_t count = 0;                                      ///< pairs of which both values are finite
};

/// Rank correlations over the pairs in which both values are finite. They are NaN for fewer than two such pairs, and if
/// all values of one side are equal. O(n log n).
/// @param y as many as x
RankCorrelation rankCorrelation(std::span<const double> x, std::span<const double> y);

/// Ranks of the finite values, 1 for the least; equal values share the mean of their ranks. NaN for all other values.
std::vector<double> averageRanks(std::span<const double> values);

} // namespace secateur
