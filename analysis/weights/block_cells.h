#pragma once

#include "analysis/weights/block_pyramid.h"
#include "analysis/weights/chunk_sums.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace secateur {

/// A picture from which pictures with larger blocks are made.
struct BlockBase {
    BlockPicture picture;               ///< without `notFinite`
    std::vector<std::uint32_t> missing; ///< [height, width] numbers of the block that are not finite; empty = all are
};

/// A picture without numbers. The window is extended to whole blocks within the grid. @param only the value for which
/// there is room; nothing = both
BlockPicture emptyPicture(const NumberGrid& grid, GridWindow window, std::int64_t blockRows, std::int64_t blockColumns,
                          std::optional<BlockValue> only = {});

/// The finite numbers of a block.
struct BlockCell {
    double sum = 0;
    std::int64_t finite = 0;
    std::int64_t missing = 0; ///< numbers that are not finite
    float least = std::numeric_limits<float>::infinity();
    float largest = -std::numeric_limits<float>::infinity();

    void add(float number);
    /// Adds the number of largest magnitude of another cell, its sum and its counts.
    void add(double otherSum, std::int64_t otherFinite, std::int64_t otherMissing, float otherLargest);
    /// Adds columns of sums, of `rows` rows each. @returns whether all numbers are finite; if not, nothing is added
    bool add(const ColumnSums& columns, std::size_t begin, std::size_t end, std::int64_t rows);
    /// Writes the values for which the picture has room.
    void write(BlockPicture& picture, std::size_t cell) const;
};

} // namespace secateur
