#include "analysis/weights/chunk_sums.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace secateur {

namespace {

// Vector types of GCC and Clang: eight numbers at a time, whatever the instruction set.
constexpr std::int64_t lanes = 8;
using Floats = float __attribute__((vector_size(32)));
using Ints = std::int32_t __attribute__((vector_size(32)));
using Doubles = double __attribute__((vector_size(64)));

// Vectors are passed by reference, because their passing by value depends on the instruction set.
void load(Floats& values, const float* source) {
    std::memcpy(&values, source, sizeof values);
}

template <typename Vector, typename Number>
Number summed(const Vector& vector, Number start) {
    for (int lane = 0; lane < lanes; ++lane)
        start += vector[lane];
    return start;
}

/// The squared deviations of numbers from a value.
double deviationOf(std::span<const float> numbers, double mean) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    Doubles squares{};
    Floats values;
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        load(values, numbers.data() + i);
        const Doubles deviation = __builtin_convertvector(values, Doubles) - mean;
        squares += deviation * deviation;
    }
    double sum = summed(squares, 0.0);
    for (; i < count; ++i) {
        const double deviation = static_cast<double>(numbers[static_cast<std::size_t>(i)]) - mean;
        sum += deviation * deviation;
    }
    return sum;
}

std::int64_t zerosIn(std::span<const float> numbers) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    Ints negated{}; // a comparison is -1 where it holds
    Floats values;
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        load(values, numbers.data() + i);
        negated += values == 0.0F;
    }
    std::int64_t zeros = -summed(negated, std::int64_t{0});
    for (; i < count; ++i)
        zeros += numbers[static_cast<std::size_t>(i)] == 0.0F ? 1 : 0;
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
    const auto count = static_cast<std::int64_t>(sums.size());
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        Floats values;
        Floats low;
        Floats high;
        Doubles sum;
        load(values, row + i);
        load(low, least.data() + i);
        load(high, largest.data() + i);
        std::memcpy(&sum, sums.data() + i, sizeof sum);
        sum += __builtin_convertvector(values, Doubles);
        low = values < low ? values : low;
        high = values > high ? values : high;
        std::memcpy(sums.data() + i, &sum, sizeof sum);
        std::memcpy(least.data() + i, &low, sizeof low);
        std::memcpy(largest.data() + i, &high, sizeof high);
    }
    for (; i < count; ++i) {
        const auto column = static_cast<std::size_t>(i);
        sums[column] += static_cast<double>(row[i]);
        least[column] = std::min(least[column], row[i]);
        largest[column] = std::max(largest[column], row[i]);
    }
}

RunSums runOf(const float* numbers, std::int64_t count) {
    RunSums run;
    std::int64_t i = 0;
    if (count >= lanes) {
        Floats values;
        load(values, numbers);
        Floats least = values;
        Floats largest = values;
        Doubles sum{};
        for (; i + lanes <= count; i += lanes) {
            load(values, numbers + i);
            sum += __builtin_convertvector(values, Doubles);
            least = values < least ? values : least;
            largest = values > largest ? values : largest;
        }
        run.sum = summed(sum, 0.0);
        for (int lane = 0; lane < lanes; ++lane) {
            run.least = std::min(run.least, least[lane]);
            run.largest = std::max(run.largest, largest[lane]);
        }
    }
    for (; i < count; ++i) {
        run.sum += static_cast<double>(numbers[i]);
        run.least = std::min(run.least, numbers[i]);
        run.largest = std::max(run.largest, numbers[i]);
    }
    return run;
}

ChunkSums sumsOf(std::span<const float> numbers) {
    const RunSums run = runOf(numbers.data(), static_cast<std::int64_t>(numbers.size()));
    if (!std::isfinite(run.sum))
        return sumsOfMixed(numbers);
    ChunkSums sums;
    sums.finite = static_cast<std::int64_t>(numbers.size());
    if (sums.finite == 0)
        return sums;
    sums.zeros = zerosIn(numbers);
    sums.mean = run.sum / static_cast<double>(sums.finite);
    sums.deviation = deviationOf(numbers, sums.mean);
    sums.least = run.least;
    sums.largest = run.largest;
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
