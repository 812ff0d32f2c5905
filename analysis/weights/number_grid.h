#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// A matrix of numbers that is read in pieces: the numbers of a tensor, the scales of its blocks, or the difference of
/// two tensors. Only the pieces that are read are in memory. Immutable: any thread may call its functions.
class NumberGrid {
public:
    virtual ~NumberGrid() = default;
    NumberGrid(const NumberGrid&) = delete;
    NumberGrid& operator=(const NumberGrid&) = delete;

    std::int64_t rows() const { return m_rows; }
    std::int64_t columns() const { return m_columns; }
    std::int64_t count() const { return m_rows * m_columns; }

    /// Reads consecutive numbers in row-major order as float32. @param begin row * columns() + column of the first
    /// number; begin + target.size() is at most count()
    virtual void read(std::int64_t begin, std::span<float> target) const = 0;
    /// Reads the same numbers with the bits that are stored in 16-bit symbols, for the entropy of the stored numbers:
    /// part 0 is the low 16 bits of a number, part 1 the next ones. For quantised types, the code of the number.
    /// @param part below symbolParts()
    virtual void readSymbols(std::int64_t begin, int part, std::span<std::uint16_t> target) const;
    /// Symbols of a number; 0 = the numbers are computed, not stored.
    virtual int symbolParts() const { return 0; }
    /// Number of different symbols that can occur.
    virtual int symbolKinds() const { return 65536; }
    /// [symbolKinds()] the number that each symbol stands for; empty = a number depends on more than its symbol.
    virtual std::vector<float> symbolNumbers() const { return {}; }
    /// Checks that the files were not truncated while they were read. @throws Error naming the file
    virtual void check() const {}
    /// File and tensor, for messages.
    virtual std::string subject() const = 0;

protected:
    NumberGrid(std::int64_t rows, std::int64_t columns)
        : m_rows(rows)
        , m_columns(columns) {}

private:
    std::int64_t m_rows;
    std::int64_t m_columns;
};

/// One number of a grid. @throws Error if the file was truncated
float numberAt(const NumberGrid& grid, std::int64_t row, std::int64_t column);

} // namespace secateur
