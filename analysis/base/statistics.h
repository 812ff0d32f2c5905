#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace secateur {

/// Percentile of the finite values, with linear interpolation as in numpy. NaN if there are no finite values.
/// @param percent 0 to 100
double percentile(std::span<const double> values, double percent);
/// Several percentiles at once. @param percents ascending
std::vector<double> percentiles(std::span<const double> values, std::span<const double> percents);

/// Percentage of the other finite values that are below `value`. NaN if there are no other values. @param value one of
/// `values`
double percentBelow(std::span<const double> values, double value);

/// Rank of each value. Rank 1 is cut first. Of equal values, the earlier one has the lower rank. The rank of NaN is 0.
/// @param lowFirst whether the lowest value has rank 1
std::vector<int> ranks(std::span<const double> values, bool lowFirst);

/// Whether each value is so close to another one that their true order may be the reverse. This is the case if they
/// differ by less than twice the root of the sum of their squared errors (the criterion of Gate-Norm's estimates). Two
/// exact values are always separated, even if they are equal. NaN is separated from all values.
/// @param errors standard error of each value; 0 or NaN = exact
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
    std::vector<double> edges; ///< edges of the bins, ascending, one more than `counts`; empty if there are no values
    std::vector<double> counts;
};

/// A histogram with bins of equal width. The number of bins follows Rice's rule: twice the cube root of the number of
/// values.
/// @param logarithmic whether the bins have equal widths on a logarithmic scale; values up to 0 are then left out
Histogram histogram(std::span<const double> values, bool logarithmic);

/// How well the orders of two measurements agree.
struct RankCorrelation {
    double spearman = std::numeric_limits<double>::quiet_NaN(); ///< Spearman's coefficient of averageRanks(), -1 to 1
    double kendall = std::numeric_limits<double>::quiet_NaN();  ///< Kendall's tau-b, which allows for ties, -1 to 1
    std::size_t count = 0;                                      ///< number of pairs whose values are both finite
};

/// Rank correlations over the pairs whose values are both finite. NaN if there are fewer than two such pairs, or all
/// values of x or of y are equal. Takes O(n log n).
/// @param y has as many values as x
RankCorrelation rankCorrelation(std::span<const double> x, std::span<const double> y);

/// Ranks of the finite values; 1 = the lowest value. Equal values get the mean of their ranks. Other values get NaN.
std::vector<double> averageRanks(std::span<const double> values);

} // namespace secateur
