#include "analysis/weights/chunk_sums.h"

#include "analysis/weights/wide_loops.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace secateur {

namespace {

/// Sums that are kept side by side: the compiler makes vectors of them, for any instruction set, and the order of
/// additions is the same on all.
constexpr std::size_t lanes = 32;

/// Adds numbers in turn to the lanes; the last ones to the first lane. One sum at a time: more would not stay in
/// registers. @param add (sum of a lane, number): the new sum
template <typename Sum, typename Add>
[[gnu::always_inline]] inline std::array<Sum, lanes> folded(std::span<const float> numbers, Sum start, Add add) {
    std::array<Sum, lanes> sums;
    for (std::size_t lane = 0; lane < lanes; ++lane)
        sums[lane] = start;
    std::size_t i = 0;
    for (; i + lanes <= numbers.size(); i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane)
            sums[lane] = add(sums[lane], numbers[i + lane]);
    for (; i < numbers.size(); ++i)
        sums[0] = add(sums[0], numbers[i]);
    return sums;
}

template <typename Add>
[[gnu::always_inline]] inline double summed(std::span<const float> numbers, Add add) {
    double all = 0;
    for (const double sum : folded(numbers, 0.0, add))
        all += sum;
    return all;
}

SECATEUR_WIDE_LOOPS double sumOf(std::span<const float> numbers) {
    return summed(numbers, [](double sum, float number) { return sum + static_cast<double>(number); });
}

/// The squared deviations of numbers from a value.
SECATEUR_WIDE_LOOPS double deviationOf(std::span<const float> numbers, double mean) {
    return summed(numbers, [mean](double sum, float number) {
        const double deviation = static_cast<double>(number) - mean;
        return sum + deviation * deviation;
    });
}

// NaN is not less than a number, so it is passed over.

SECATEUR_WIDE_LOOPS float leastOf(std::span<const float> numbers) {
    const auto least = folded(numbers, std::numeric_limits<float>::infinity(),
                              [](float found, float number) { return number < found ? number : found; });
    return *std::ranges::min_element(least);
}

SECATEUR_WIDE_LOOPS float largestOf(std::span<const float> numbers) {
    const auto largest = folded(numbers, -std::numeric_limits<float>::infinity(),
                                [](float found, float number) { return number > found ? number : found; });
    return *std::ranges::max_element(largest);
}

SECATEUR_WIDE_LOOPS std::int64_t zerosIn(std::span<const float> numbers) {
    std::int32_t zeros = 0; // as wide as the numbers, for vectors
    for (const float number : numbers)
        zeros += number == 0.0F ? 1 : 0;
    return zeros;
}

/// For runs that contain NaN or infinite numbers.
ChunkSums sumsOfMixed(std::span<const float> numbers) {
    ChunkSums sums;
    double sum = 0;
    for (const float number : numbers) {
        if (std::isnan(number)) {
            ++sums.nan;
        } else if (std::isinf(number)) {
            ++sums.infinite;
        } else {
            ++sums.finite;
            sum += static_cast<double>(number);
            sums.zeros += number == 0.0F ? 1 : 0;
            sums.least = std::min(sums.least, number);
            sums.largest = std::max(sums.largest, number);
        }
    }
    if (sums.finite == 0)
        return sums;
    sums.mean = sum / static_cast<double>(sums.finite);
    for (const float number : numbers)
        if (std::isfinite(number))
            sums.deviation += std::pow(static_cast<double>(number) - sums.mean, 2);
    return sums;
}

} // namespace

void ColumnSums::start(std::int64_t columns) {
    const auto size = static_cast<std::size_t>(columns);
    sums.assign(size, 0);
    least.assign(size, std::numeric_limits<float>::infinity());
    largest.assign(size, -std::numeric_limits<float>::infinity());
}

void ColumnSums::add(const float* row) {
    double* const __restrict sum = sums.data();
    float* const __restrict low = least.data();
    float* const __restrict high = largest.data();
    for (std::size_t column = 0; column < sums.size(); ++column) {
        const float number = row[column];
        sum[column] += static_cast<double>(number);
        low[column] = number < low[column] ? number : low[column];
        high[column] = number > high[column] ? number : high[column];
    }
}

ChunkSums sumsOf(std::span<const float> numbers) {
    const double sum = sumOf(numbers);
    if (!std::isfinite(sum)) // a number is not, because sums of float32 do not overflow
        return sumsOfMixed(numbers);
    ChunkSums sums;
    sums.finite = static_cast<std::int64_t>(numbers.size());
    if (sums.finite == 0)
        return sums;
    sums.zeros = zerosIn(numbers);
    sums.mean = sum / static_cast<double>(sums.finite);
    sums.deviation = deviationOf(numbers, sums.mean);
    sums.least = leastOf(numbers);
    sums.largest = largestOf(numbers);
    return sums;
}

void ChunkSums::add(const ChunkSums& other) {
    nan += other.nan;
    infinite += other.infinite;
    zeros += other.zeros;
    if (other.finite == 0)
        return;
    const auto both = static_cast<double>(finite + other.finite);
    const double step = other.mean - mean;
    const auto here = static_cast<double>(finite);
    const auto there = static_cast<double>(other.finite);
    deviation += other.deviation + step * step * (here * there / both);
    mean += step * (there / both);
    finite += other.finite;
    least = std::min(least, other.least);
    largest = std::max(largest, other.largest);
}

} // namespace secateur
