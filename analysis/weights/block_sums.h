#pragma once

#include "analysis/weights/block_pyramid.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace secateur {

/// A picture of a window before the division of its sums: pictures with larger blocks can be made from it.
struct BlockSums {
    GridWindow window;
    std::int64_t blockRows = 1;
    std::int64_t blockColumns = 1;
    std::int64_t height = 0;
    std::int64_t width = 0;
    std::vector<double> sums;          ///< [height, width] of the finite numbers
    std::vector<std::uint32_t> finite; ///< [height, width] number of finite numbers that were read
    std::vector<std::uint32_t> read;   ///< [height, width] numbers that were read
    std::vector<float> largest;        ///< [height, width]; NaN = no finite number

    /// Sums without numbers. The window is extended to whole blocks within the grid.
    BlockSums(const NumberGrid& grid, GridWindow window, std::int64_t blockRows, std::int64_t blockColumns);

    /// Adds a run of numbers to a cell.
    void add(std::size_t cell, const float* numbers, std::int64_t count);
    /// Adds the sums of a cell of other sums.
    void add(std::size_t cell, const BlockSums& other, std::size_t otherCell);
    BlockPicture picture(bool isSampled) const;
};

} // namespace secateur
