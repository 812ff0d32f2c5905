#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// Bins of a histogram.
inline constexpr int histogramBins = 256;

/// The bins of a histogram, of equal width, from the least to the largest number. A single value gets bins around it.
class Bins {
public:
    /// @param least, largest float32 numbers
    Bins(double least, double largest);

    const std::vector<double>& edges() const { return m_edges; } ///< [histogramBins + 1]
    /// The bin of a number between the ends. A number on an inner edge is in the upper bin.
    std::size_t bin(double number) const;
    /// The bins of finite numbers between the ends. @param bins one for each number
    void find(std::span<const float> numbers, std::span<std::int32_t> bins) const;

private:
    void findInFloat(std::span<const float> numbers, std::span<std::int32_t> bins) const;

    std::vector<double> m_edges;
    double m_least;
    double m_binsPerUnit;
    bool m_isFloat; ///< whether places in float32 are good enough, away from the edges
};

/// Counts of one thread.
class BinCounts {
public:
    /// @param numbers finite and between the ends of the bins
    void add(std::span<const float> numbers, const Bins& bins);
    std::int64_t count(std::size_t bin) const;

private:
    /// Tables that are used in turn: equal bins often follow each other, and one counter would wait for itself.
    std::array<std::array<std::int64_t, histogramBins>, 4> m_tables{};
};

} // namespace secateur
