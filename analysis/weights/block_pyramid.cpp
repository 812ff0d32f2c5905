#include "analysis/weights/block_pyramid.h"

#include "analysis/weights/block_sums.h"
#include "analysis/weights/grid_walk.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>

namespace secateur {

namespace {

/// Numbers that a sampled picture reads, about.
constexpr std::int64_t sampledNumbers = 1 << 22;
/// Columns of a block that a sampled picture reads, at most: as many as share a scale in most quantised types.
constexpr std::int64_t sampledColumns = 32;

/// Reads the rows of blocks of a window and adds them up. One task is a row of blocks, or a part of it.
class BlockReading {
public:
    BlockReading(const NumberGrid& grid, BlockSums& sums)
        : m_grid(grid)
        , m_sums(sums) {
        // Wide windows with few rows of blocks are divided by columns too, so that all threads have work.
        const std::int64_t tasksWanted = std::int64_t{4} * workerCount();
        m_parts = std::clamp<std::int64_t>(sums.height > 0 ? (tasksWanted + sums.height - 1) / sums.height : 1, 1,
                                           std::max<std::int64_t>(1, sums.window.columns / chunkNumbers));
        m_cellsOfPart = (sums.width + m_parts - 1) / m_parts;
        const bool isWhole = m_parts == 1 && sums.window.columns == grid.columns() && grid.columns() > 0;
        m_rowsAtOnce = isWhole ? std::max<std::int64_t>(1, chunkNumbers / grid.columns()) : 1;
    }

    void run(const Progress& progress) {
        std::vector<std::vector<float>> buffers(static_cast<std::size_t>(workerCount()));
        eachTask(
            m_sums.height * m_parts,
            [&](int worker, std::int64_t task) {
                addTask(task / m_parts, task % m_parts, buffers[static_cast<std::size_t>(worker)]);
            },
            progress);
    }

private:
    void addTask(std::int64_t y, std::int64_t part, std::vector<float>& buffer) {
        const GridWindow& window = m_sums.window;
        const std::int64_t firstCell = part * m_cellsOfPart;
        const std::int64_t endCell = std::min(m_sums.width, firstCell + m_cellsOfPart);
        if (firstCell >= endCell)
            return;
        const std::int64_t column = window.column + firstCell * m_sums.blockColumns;
        const std::int64_t endColumn =
            std::min(window.column + endCell * m_sums.blockColumns, window.column + window.columns);
        const std::int64_t row = window.row + y * m_sums.blockRows;
        const std::int64_t endRow = std::min(row + m_sums.blockRows, window.row + window.rows);
        const std::int64_t columns = endColumn - column;
        for (std::int64_t first = row; first < endRow; first += m_rowsAtOnce) {
            const std::int64_t rows = std::min(m_rowsAtOnce, endRow - first);
            buffer.resize(static_cast<std::size_t>(rows * columns));
            m_grid.read(first * m_grid.columns() + column, buffer);
            for (std::int64_t i = 0; i < rows; ++i)
                addRow(y, firstCell, buffer.data() + i * columns, columns);
        }
    }

    void addRow(std::int64_t y, std::int64_t x, const float* numbers, std::int64_t count) {
        for (std::int64_t done = 0; done < count; done += m_sums.blockColumns, ++x)
            m_sums.add(static_cast<std::size_t>(y * m_sums.width + x), numbers + done,
                       std::min(m_sums.blockColumns, count - done));
    }

    const NumberGrid& m_grid;
    BlockSums& m_sums;
    std::int64_t m_parts;       ///< of a row of blocks
    std::int64_t m_cellsOfPart; ///< cells of a part
    std::int64_t m_rowsAtOnce;  ///< rows of the grid that are read together, if they follow each other
};

/// Sums of larger blocks from the base.
BlockSums fromBase(const NumberGrid& grid, const BlockSums& base, GridWindow window, std::int64_t blockRows,
                   std::int64_t blockColumns) {
    BlockSums sums(grid, window, blockRows, blockColumns);
    const std::int64_t down = blockRows / base.blockRows;
    const std::int64_t right = blockColumns / base.blockColumns;
    const std::int64_t top = sums.window.row / base.blockRows;
    const std::int64_t left = sums.window.column / base.blockColumns;
    for (std::int64_t y = 0; y < sums.height * down && top + y < base.height; ++y)
        for (std::int64_t x = 0; x < sums.width * right && left + x < base.width; ++x)
            sums.add(static_cast<std::size_t>(y / down * sums.width + x / right), base,
                     static_cast<std::size_t>((top + y) * base.width + left + x));
    return sums;
}

/// The rows of a block that a sampled picture reads, from its first row, evenly spread.
std::int64_t sampledRow(std::int64_t index, std::int64_t count, std::int64_t rows) {
    return (2 * index + 1) * rows / (2 * count);
}

void sampleRow(const NumberGrid& grid, BlockSums& sums, std::int64_t y, std::int64_t row, std::vector<float>& buffer) {
    const GridWindow& window = sums.window;
    const std::int64_t start = row * grid.columns() + window.column;
    const bool readsAll = sums.blockColumns <= sampledColumns;
    if (readsAll) {
        buffer.resize(static_cast<std::size_t>(window.columns));
        grid.read(start, buffer);
    }
    for (std::int64_t x = 0; x < sums.width; ++x) {
        const std::int64_t column = x * sums.blockColumns;
        std::int64_t count = std::min(sums.blockColumns, window.columns - column);
        const float* numbers = buffer.data() + column;
        if (!readsAll) {
            count = std::min(count, sampledColumns);
            buffer.resize(static_cast<std::size_t>(count));
            grid.read(start + column, buffer);
            numbers = buffer.data();
        }
        sums.add(static_cast<std::size_t>(y * sums.width + x), numbers, count);
    }
}

} // namespace

std::int64_t blockSize(std::int64_t numbers, std::int64_t cells) {
    std::int64_t block = 1;
    while ((numbers + block - 1) / block > std::max<std::int64_t>(1, cells))
        block *= 2;
    return block;
}

BlockPyramid::BlockPyramid(std::shared_ptr<const NumberGrid> grid)
    : m_grid(std::move(grid)) {}

std::shared_ptr<const BlockSums> BlockPyramid::base() const {
    const std::lock_guard lock(m_mutex);
    return m_base;
}

bool BlockPyramid::isInMemory(std::int64_t blockRows, std::int64_t blockColumns) const {
    const auto known = base();
    return known && blockRows >= known->blockRows && blockColumns >= known->blockColumns;
}

void BlockPyramid::build(const Progress& progress) {
    if (base())
        return;
    std::int64_t blockRows = 1;
    std::int64_t blockColumns = 1;
    const auto height = [&] { return (m_grid->rows() + blockRows - 1) / blockRows; };
    const auto width = [&] { return (m_grid->columns() + blockColumns - 1) / blockColumns; };
    while (height() * width() > baseCells)
        (height() > width() ? blockRows : blockColumns) *= 2;
    auto sums = std::make_shared<BlockSums>(*m_grid, GridWindow{0, 0, m_grid->rows(), m_grid->columns()}, blockRows,
                                            blockColumns);
    BlockReading(*m_grid, *sums).run(progress);
    m_grid->check();
    const std::lock_guard lock(m_mutex);
    m_base = std::move(sums);
}

BlockPicture BlockPyramid::sampled(GridWindow window, std::int64_t blockRows, std::int64_t blockColumns) const {
    if (const auto known = base(); known && isInMemory(blockRows, blockColumns))
        return fromBase(*m_grid, *known, window, blockRows, blockColumns).picture(false);
    BlockSums sums(*m_grid, window, blockRows, blockColumns);
    const std::int64_t ofRow = std::max<std::int64_t>(1, sums.width * std::min(blockColumns, sampledColumns));
    const std::int64_t most =
        std::max<std::int64_t>(1, sampledNumbers / (ofRow * std::max<std::int64_t>(1, sums.height)));
    std::vector<std::vector<float>> buffers(static_cast<std::size_t>(workerCount()));
    eachTask(sums.height,
             [&](int worker, std::int64_t y) {
                 const std::int64_t first = sums.window.row + y * blockRows;
                 const std::int64_t rows = std::min(blockRows, sums.window.row + sums.window.rows - first);
                 const std::int64_t count = std::min({most, rows, std::int64_t{4}});
                 for (std::int64_t i = 0; i < count; ++i)
                     sampleRow(*m_grid, sums, y, first + sampledRow(i, count, rows),
                               buffers[static_cast<std::size_t>(worker)]);
             },
             {});
    m_grid->check();
    const bool isExact = blockRows <= std::min<std::int64_t>(most, 4) && blockColumns <= sampledColumns;
    return sums.picture(!isExact);
}

BlockPicture BlockPyramid::picture(GridWindow window, std::int64_t blockRows, std::int64_t blockColumns,
                                   const Progress& progress) const {
    if (const auto known = base(); known && isInMemory(blockRows, blockColumns))
        return fromBase(*m_grid, *known, window, blockRows, blockColumns).picture(false);
    BlockSums sums(*m_grid, window, blockRows, blockColumns);
    BlockReading(*m_grid, sums).run(progress);
    m_grid->check();
    return sums.picture(false);
}

} // namespace secateur
