#pragma once

#include <cstdint>
#include <vector>

namespace secateur {

/// Sequences that run together, padded at the end. All kinds of runs use batches: single sequences, padded ones,
/// encoder inputs, windows, and continuations of sequences in a KV cache.
struct Batch {
    int rows = 0;
    int positions = 0;              ///< number of positions of the longest row
    std::vector<int> ids;           ///< [rows * positions], row after row; padding may hold any token
    std::vector<int> lengths;       ///< [rows] number of tokens without padding; empty = no padding
    std::vector<int> firstPosition; ///< [rows] number of tokens already in the KV cache; empty = 0 for each row
    std::vector<int> types;         ///< [rows * positions] token types (encoders); empty = 0 for each token

    int length(int row) const { return lengths.empty() ? positions : lengths[static_cast<std::size_t>(row)]; }
    int first(int row) const { return firstPosition.empty() ? 0 : firstPosition[static_cast<std::size_t>(row)]; }
    std::int64_t tokens() const { return std::int64_t{rows} * positions; }
};

} // namespace secateur
