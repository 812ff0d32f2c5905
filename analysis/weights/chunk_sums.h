#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace secateur {

/// Sums over a run of numbers. All but the counts are over the finite numbers.
struct ChunkSums {
    std::int64_t finite = 0;
    std::int64_t nan = 0;
    std::int64_t infinite = 0;
    std::int64_t zeros = 0;
    double mean = 0;
    double deviation = 0; ///< sum of the squared deviations from the mean
    float least = std::numeric_limits<float>::infinity();
    float largest = -std::numeric_limits<float>::infinity();

    /// Adds the numbers of another run (Chan et al., Updating formulae and a pairwise algorithm for variances).
    void add(const ChunkSums& other);
};

ChunkSums sumsOf(std::span<const float> numbers);

/// Sums of the columns of some rows, number by number.
struct ColumnSums {
    std::vector<double> sums;
    std::vector<float> least;
    std::vector<float> largest;

    /// Forgets all rows. @param columns numbers of a row
    void start(std::int64_t columns);
    void add(const float* row);
};

} // namespace secateur
