#pragma once

#include "analysis/base/progress.h"
#include "analysis/weights/bin_counts.h"
#include "analysis/weights/number_grid.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace secateur {

/// Numbers beyond this many standard deviations from the mean are outliers.
inline constexpr double outlierDeviations = 6;

/// Statistics of the numbers of a grid, in float64 of numbers in float32. Mean, standard deviation, norm, least and
/// largest number, outliers and histogram are those of the finite numbers; they are NaN or empty if there are none.
struct TensorStatistics {
    std::int64_t count = 0; ///< all numbers
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
    std::int64_t zeros = 0;
    std::int64_t outliers = 0; ///< |x - mean| > 6 sd
    double mean = std::numeric_limits<double>::quiet_NaN();
    double sd = std::numeric_limits<double>::quiet_NaN();   ///< population: divided by the number of finite numbers
    double norm = std::numeric_limits<double>::quiet_NaN(); ///< Frobenius norm
    double least = std::numeric_limits<double>::quiet_NaN();
    double largest = std::numeric_limits<double>::quiet_NaN();
    /// Effective bits per number: the entropy (base 2) of the stored 16-bit patterns; for wider types the sum of the
    /// entropies of their 16-bit parts, an upper bound; for quantised types the entropy of the codes, without the
    /// scales. NaN = the numbers are not stored, or there are none.
    double effectiveBits = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> edges;        ///< [bins + 1] of equal width, from least to largest (Bins)
    std::vector<std::int64_t> counts; ///< [bins]; a number on an inner edge counts in the upper bin

    std::int64_t finite() const { return count - nan - infinite; }
    /// zeros / count; NaN if there are no numbers.
    double zeroShare() const;
};

/// The statistics of a grid, on all threads. Types of at most 16 bits are read once; others twice, because bins and
/// outliers need the range. Memory: a few buffers per thread, whatever the size of the grid. Results do not depend on
/// the number of threads. @throws Error if the file was truncated; Cancelled
TensorStatistics statisticsOf(const NumberGrid& grid, const Progress& progress = {});

} // namespace secateur
