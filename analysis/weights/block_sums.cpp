#include "analysis/weights/block_sums.h"

#include "analysis/weights/chunk_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

std::int64_t roundedDown(std::int64_t place, std::int64_t block) {
    return place / block * block;
}

std::int64_t roundedUp(std::int64_t place, std::int64_t block) {
    return (place + block - 1) / block * block;
}

/// The number of larger magnitude; the positive one if the magnitudes are equal.
float largerOf(float a, float b) {
    if (std::isnan(a))
        return b;
    if (std::isnan(b) || std::abs(a) > std::abs(b))
        return a;
    return std::abs(b) > std::abs(a) ? b : std::max(a, b);
}

} // namespace

BlockSums::BlockSums(const NumberGrid& grid, GridWindow wanted, std::int64_t rowsOfBlock, std::int64_t columnsOfBlock)
    : blockRows(rowsOfBlock)
    , blockColumns(columnsOfBlock) {
    window.row = roundedDown(std::clamp<std::int64_t>(wanted.row, 0, grid.rows()), blockRows);
    window.column = roundedDown(std::clamp<std::int64_t>(wanted.column, 0, grid.columns()), blockColumns);
    window.rows =
        std::max<std::int64_t>(0, std::min(roundedUp(wanted.row + wanted.rows, blockRows), grid.rows()) - window.row);
    window.columns = std::max<std::int64_t>(
        0, std::min(roundedUp(wanted.column + wanted.columns, blockColumns), grid.columns()) - window.column);
    height = (window.rows + blockRows - 1) / blockRows;
    width = (window.columns + blockColumns - 1) / blockColumns;
    const auto cells = static_cast<std::size_t>(height * width);
    sums.assign(cells, 0);
    finite.assign(cells, 0);
    read.assign(cells, 0);
    largest.assign(cells, std::numeric_limits<float>::quiet_NaN());
}

void BlockSums::add(std::size_t cell, const float* numbers, std::int64_t count) {
    read[cell] += static_cast<std::uint32_t>(count);
    const RunSums run = runOf(numbers, count);
    if (std::isfinite(run.sum)) {
        sums[cell] += run.sum;
        finite[cell] += static_cast<std::uint32_t>(count);
        const bool isPositive = run.largest >= -run.least;
        largest[cell] = largerOf(largest[cell], isPositive ? run.largest : run.least);
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        if (!std::isfinite(numbers[i]))
            continue;
        sums[cell] += static_cast<double>(numbers[i]);
        ++finite[cell];
        largest[cell] = largerOf(largest[cell], numbers[i]);
    }
}

void BlockSums::add(std::size_t cell, const BlockSums& other, std::size_t otherCell) {
    sums[cell] += other.sums[otherCell];
    finite[cell] += other.finite[otherCell];
    read[cell] += other.read[otherCell];
    largest[cell] = largerOf(largest[cell], other.largest[otherCell]);
}

BlockPicture BlockSums::picture(bool isSampled) const {
    BlockPicture picture{.window = window,
                         .blockRows = blockRows,
                         .blockColumns = blockColumns,
                         .height = height,
                         .width = width,
                         .means = std::vector<float>(sums.size()),
                         .largest = largest,
                         .notFinite = std::vector<std::uint8_t>(sums.size()),
                         .isSampled = isSampled};
    for (std::size_t cell = 0; cell < sums.size(); ++cell) {
        picture.means[cell] =
            finite[cell] > 0 ? static_cast<float>(sums[cell] / finite[cell]) : std::numeric_limits<float>::quiet_NaN();
        picture.notFinite[cell] = finite[cell] < read[cell] ? 1 : 0;
    }
    return picture;
}

} // namespace secateur
