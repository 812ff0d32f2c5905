#pragma once

#include <cstdint>
#include <vector>

namespace secateur {

/// Sequences that run side by side, padded on the right. Everything that runs takes one, so that padding, encoders,
/// windows and continued sequences need no second path.
struct Batch {
    int rows = 0;
    int positions = 0;              ///< of the longest row
    std::vector<int> ids;           ///< [rows * positions], row after row; padding may hold any token
    std::vector<int> lengths;       ///< [rows] real tokens of each row; empty = all are full
    std::vector<int> firstPosition; ///< [rows] tokens of the row that a KV cache holds already; empty = 0
    std::vector<int> types;         ///< [rows * positions] token types (encoders); empty = 0

    int length(int row) const { return lengths.empty() ? positions : lengths[static_cast<std::size_t>(row)]; }
    int first(int row) const { return firstPosition.empty() ? 0 : firstPosition[static_cast<std::size_t>(row)]; }
    std::int64_t tokens() const { return std::int64_t{rows} * positions; }
};

} // namespace secateur
