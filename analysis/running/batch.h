#pragma once

#include <cstdint>
#include <vector>

namespace secateur {

/// Sequences that run together, padded on the right. Every run takes a batch: single sequences, padded ones, encoder
/// inputs, windows, and continuations of sequences in a KV cache.
struct Batch {
    int rows = 0;
    int positions = 0;              ///< of the longest row
    std::vector<int> ids;           ///< [rows * positions], row after row; padding may hold any token
    std::vector<int> lengths;       ///< [rows] number of real tokens; empty = no padding
    std::vector<int> firstPosition; ///< [rows] number of tokens already in the KV cache; empty = 0 each
    std::vector<int> types;         ///< [rows * positions] token types (encoders); empty = 0 each

    int length(int row) const { return lengths.empty() ? positions : lengths[static_cast<std::size_t>(row)]; }
    int first(int row) const { return firstPosition.empty() ? 0 : firstPosition[static_cast<std::size_t>(row)]; }
    std::int64_t tokens() const { return std::int64_t{rows} * positions; }
};

} // namespace secateur
