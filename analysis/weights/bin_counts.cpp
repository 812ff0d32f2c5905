#include "analysis/weights/bin_counts.h"

#include "analysis/weights/wide_loops.h"

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr std::size_t numbersAtOnce = 256;

// A number that is closer to an edge than this, in bins, is compared with the edge itself, because places are rounded:
// in float32 three times by 2^-24 of at most 256.
constexpr double nearEdge = 1e-6;
constexpr float nearEdgeFloat = 1e-4F;

/// Where numbers are in bins: their bins, and how far they are from the middle of it. Short loops without branches,
/// which become vectors.
SECATEUR_WIDE_LOOPS void findPlaces(std::span<const float> numbers, float least, float binsPerUnit, std::int32_t* bins,
                                    float* __restrict fromMiddle) {
    for (std::size_t i = 0; i < numbers.size(); ++i)
        fromMiddle[i] = (numbers[i] - least) * binsPerUnit;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        bins[i] = static_cast<std::int32_t>(fromMiddle[i]);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        fromMiddle[i] = std::abs(fromMiddle[i] - static_cast<float>(bins[i]) - 0.5F);
}

/// Whether one of positive numbers is at least `limit`.
SECATEUR_WIDE_LOOPS bool reaches(std::span<const float> numbers, float limit) {
    std::int32_t count = 0; // as wide as the numbers, for vectors
    for (const float number : numbers)
        count += number >= limit ? 1 : 0;
    return count > 0;
}

} // namespace

Bins::Bins(double least, double largest) {
    m_isFloat = largest > least;
    if (!m_isFloat) {
        least -= 0.5;
        largest += 0.5;
    }
    for (int i = 0; i <= histogramBins; ++i)
        m_edges.push_back(i == histogramBins ? largest : least + (largest - least) * i / histogramBins);
    m_least = least;
    m_binsPerUnit = histogramBins / (largest - least);
    // float32 has room for the range and its inverse, and the least number of a tensor is one.
    constexpr double room = 1e30;
    m_isFloat = m_isFloat && largest - least < room && m_binsPerUnit < room;
}

std::size_t Bins::bin(double number) const {
    const double place = (number - m_least) * m_binsPerUnit;
    auto bin = std::min(static_cast<std::int64_t>(place), std::int64_t{histogramBins - 1});
    const double rest = place - static_cast<double>(bin);
    if (rest < nearEdge || rest > 1 - nearEdge) {
        const auto index = static_cast<std::size_t>(bin);
        if (bin > 0 && number < m_edges[index])
            --bin;
        else if (bin + 1 < histogramBins && number >= m_edges[index + 1])
            ++bin;
    }
    return static_cast<std::size_t>(bin);
}

void Bins::find(std::span<const float> numbers, std::span<std::int32_t> bins) const {
    if (m_isFloat)
        return findInFloat(numbers, bins);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        bins[i] = static_cast<std::int32_t>(bin(static_cast<double>(numbers[i])));
}

void Bins::findInFloat(std::span<const float> numbers, std::span<std::int32_t> bins) const {
    constexpr float limit = 0.5F - nearEdgeFloat;
    std::array<float, numbersAtOnce> fromMiddle;
    for (std::size_t done = 0; done < numbers.size(); done += numbersAtOnce) {
        const std::size_t count = std::min(numbersAtOnce, numbers.size() - done);
        findPlaces(numbers.subspan(done, count), static_cast<float>(m_least), static_cast<float>(m_binsPerUnit),
                   bins.data() + done, fromMiddle.data());
        if (!reaches(std::span(fromMiddle).first(count), limit))
            continue;
        for (std::size_t i = 0; i < count; ++i)
            if (fromMiddle[i] >= limit)
                bins[done + i] = static_cast<std::int32_t>(bin(static_cast<double>(numbers[done + i])));
    }
}

void BinCounts::add(std::span<const float> numbers, const Bins& bins) {
    std::array<std::int32_t, numbersAtOnce> found;
    for (std::size_t done = 0; done < numbers.size(); done += numbersAtOnce) {
        const std::size_t count = std::min(numbersAtOnce, numbers.size() - done);
        bins.find(numbers.subspan(done, count), found);
        std::size_t i = 0;
        for (; i + m_tables.size() <= count; i += m_tables.size())
            for (std::size_t table = 0; table < m_tables.size(); ++table)
                ++m_tables[table][static_cast<std::size_t>(found[i + table])];
        for (; i < count; ++i)
            ++m_tables.front()[static_cast<std::size_t>(found[i])];
    }
}

std::int64_t BinCounts::count(std::size_t bin) const {
    std::int64_t all = 0;
    for (const auto& table : m_tables)
        all += table[bin];
    return all;
}

} // namespace secateur
