#include "analysis/weights/block_cells.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

std::int64_t roundedDown(std::int64_t place, std::int64_t block) {
    return place / block * block;
}

/// The end of a window along an axis, extended to whole blocks within the grid.
std::int64_t extendedEnd(std::int64_t end, std::int64_t block, std::int64_t size) {
    return std::min((end + block - 1) / block * block, size);
}

} // namespace

BlockPicture emptyPicture(const NumberGrid& grid, GridWindow wanted, std::int64_t blockRows, std::int64_t blockColumns,
                          std::optional<BlockValue> only) {
    BlockPicture picture;
    picture.blockRows = blockRows;
    picture.blockColumns = blockColumns;
    GridWindow& window = picture.window;
    window.row = roundedDown(std::clamp<std::int64_t>(wanted.row, 0, grid.rows()), blockRows);
    window.column = roundedDown(std::clamp<std::int64_t>(wanted.column, 0, grid.columns()), blockColumns);
    const std::int64_t endRow = extendedEnd(wanted.row + wanted.rows, blockRows, grid.rows());
    const std::int64_t endColumn = extendedEnd(wanted.column + wanted.columns, blockColumns, grid.columns());
    window.rows = std::max<std::int64_t>(0, endRow - window.row);
    window.columns = std::max<std::int64_t>(0, endColumn - window.column);
    picture.height = (window.rows + blockRows - 1) / blockRows;
    picture.width = (window.columns + blockColumns - 1) / blockColumns;
    const auto cells = static_cast<std::size_t>(picture.height * picture.width);
    if (only != BlockValue::largest)
        picture.means.assign(cells, std::numeric_limits<float>::quiet_NaN());
    if (only != BlockValue::mean)
        picture.largest.assign(cells, std::numeric_limits<float>::quiet_NaN());
    picture.notFinite.assign(cells, 0);
    return picture;
}

void BlockCell::add(float number) {
    if (!std::isfinite(number)) {
        ++missing;
        return;
    }
    sum += static_cast<double>(number);
    ++finite;
    least = std::min(least, number);
    largest = std::max(largest, number);
}

void BlockCell::add(double otherSum, std::int64_t otherFinite, std::int64_t otherMissing, float otherLargest) {
    missing += otherMissing;
    if (otherFinite == 0)
        return;
    sum += otherSum;
    finite += otherFinite;
    least = std::min(least, otherLargest);
    largest = std::max(largest, otherLargest);
}

bool BlockCell::add(const ColumnSums& columns, std::size_t begin, std::size_t end, std::int64_t rows) {
    double all = 0;
    float low = std::numeric_limits<float>::infinity();
    float high = -std::numeric_limits<float>::infinity();
    for (std::size_t column = begin; column < end; ++column) {
        all += columns.sums[column];
        low = std::min(low, columns.least[column]);
        high = std::max(high, columns.largest[column]);
    }
    if (!std::isfinite(all))
        return false;
    sum += all;
    finite += rows * static_cast<std::int64_t>(end - begin);
    least = std::min(least, low);
    largest = std::max(largest, high);
    return true;
}

void BlockCell::write(BlockPicture& picture, std::size_t cell) const {
    picture.notFinite[cell] = missing > 0 ? 1 : 0;
    if (finite == 0)
        return;
    if (!picture.means.empty())
        picture.means[cell] = static_cast<float>(sum / static_cast<double>(finite));
    if (!picture.largest.empty())
        picture.largest[cell] = largest >= -least ? largest : least;
}

} // namespace secateur
