#include "analysis/weights/block_pyramid.h"

#include "analysis/weights/block_cells.h"
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

/// Buffers of one worker.
struct BlockWorker {
    std::vector<float> numbers;
    ColumnSums columns;
};

std::vector<BlockWorker> blockWorkers() {
    return std::vector<BlockWorker>(static_cast<std::size_t>(workerCount()));
}

/// Reads the blocks of a picture. One task is a row of blocks, or a part of it.
class BlockReading {
public:
    /// @param missing gets BlockBase::missing; null = not wanted
    BlockReading(const NumberGrid& grid, BlockPicture& picture, std::vector<std::uint32_t>* missing = nullptr)
        : m_grid(grid)
        , m_picture(picture)
        , m_missing(missing) {
        // Wide windows with few rows of blocks are divided by columns too, so that all threads have work.
        const std::int64_t tasksWanted = std::int64_t{4} * workerCount();
        const std::int64_t most = std::max<std::int64_t>(1, picture.window.columns / chunkNumbers);
        m_parts = std::clamp<std::int64_t>(picture.height > 0 ? (tasksWanted + picture.height - 1) / picture.height : 1,
                                           1, most);
        m_cellsOfPart = (picture.width + m_parts - 1) / m_parts;
        const bool isWhole = m_parts == 1 && picture.window.columns == grid.columns() && grid.columns() > 0;
        m_rowsAtOnce = isWhole ? std::max<std::int64_t>(1, chunkNumbers / grid.columns()) : 1;
    }

    void run(const Progress& progress) {
        std::vector<BlockWorker> workers = blockWorkers();
        eachTask(
            m_picture.height * m_parts,
            [&](int worker, std::int64_t task) {
                readTask(task / m_parts, task % m_parts, workers[static_cast<std::size_t>(worker)]);
            },
            progress);
    }

private:
    void readTask(std::int64_t y, std::int64_t part, BlockWorker& worker) {
        const GridWindow& window = m_picture.window;
        const std::int64_t firstCell = part * m_cellsOfPart;
        const std::int64_t endCell = std::min(m_picture.width, firstCell + m_cellsOfPart);
        if (firstCell >= endCell)
            return;
        const std::int64_t column = firstCell * m_picture.blockColumns;
        const std::int64_t columns = std::min(endCell * m_picture.blockColumns, window.columns) - column;
        const std::int64_t row = window.row + y * m_picture.blockRows;
        const std::int64_t rows = std::min(m_picture.blockRows, window.row + window.rows - row);
        worker.columns.start(columns);
        for (std::int64_t done = 0; done < rows; done += m_rowsAtOnce) {
            const std::int64_t count = std::min(m_rowsAtOnce, rows - done);
            worker.numbers.resize(static_cast<std::size_t>(count * columns));
            m_grid.read((row + done) * m_grid.columns() + window.column + column, worker.numbers);
            for (std::int64_t i = 0; i < count; ++i)
                worker.columns.add(worker.numbers.data() + i * columns);
        }
        for (std::int64_t x = firstCell; x < endCell; ++x) {
            const std::int64_t begin = x * m_picture.blockColumns - column;
            const std::int64_t end = std::min(begin + m_picture.blockColumns, columns);
            BlockCell cell;
            if (!cell.add(worker.columns, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), rows))
                cell = mixedCell(row, rows, window.column + column + begin, end - begin, worker);
            const std::size_t place = m_picture.cell(y, x);
            cell.write(m_picture, place);
            if (m_missing && cell.missing > 0)
                noteMissing(place, cell.missing);
        }
    }

    /// Few tensors have such numbers, so memory is taken for the first one.
    void noteMissing(std::size_t place, std::int64_t missing) {
        const std::lock_guard lock(m_mutex);
        m_missing->resize(m_picture.means.size());
        (*m_missing)[place] = static_cast<std::uint32_t>(missing);
    }

    /// Reads a block that contains NaN or infinite numbers once more.
    BlockCell mixedCell(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns,
                        BlockWorker& worker) const {
        BlockCell cell;
        worker.numbers.resize(static_cast<std::size_t>(columns));
        for (std::int64_t i = 0; i < rows; ++i) {
            m_grid.read((row + i) * m_grid.columns() + column, worker.numbers);
            for (const float number : worker.numbers)
                cell.add(number);
        }
        return cell;
    }

    const NumberGrid& m_grid;
    BlockPicture& m_picture;
    std::vector<std::uint32_t>* m_missing;
    std::mutex m_mutex;         ///< of *m_missing
    std::int64_t m_parts;       ///< of a row of blocks
    std::int64_t m_cellsOfPart; ///< cells of a part
    std::int64_t m_rowsAtOnce;  ///< rows of the grid that are read together, if they follow each other
};

/// Numbers of a block of a picture; blocks at the edges are smaller.
std::int64_t numbersOf(const BlockPicture& picture, std::int64_t y, std::int64_t x) {
    return std::min(picture.blockRows, picture.window.rows - y * picture.blockRows) *
           std::min(picture.blockColumns, picture.window.columns - x * picture.blockColumns);
}

struct BlockShape {
    std::int64_t rows = 1;
    std::int64_t columns = 1;

    std::int64_t cellsOf(const NumberGrid& grid) const {
        return ((grid.rows() + rows - 1) / rows) * ((grid.columns() + columns - 1) / columns);
    }
};

/// The smallest blocks of which the base has room for all.
BlockShape baseBlocks(const NumberGrid& grid) {
    BlockShape block;
    while (block.cellsOf(grid) > BlockPyramid::baseCells) {
        const bool isTall =
            (grid.rows() + block.rows - 1) / block.rows > (grid.columns() + block.columns - 1) / block.columns;
        (isTall ? block.rows : block.columns) *= 2;
    }
    return block;
}

/// Fills a picture with larger blocks from the base.
void fillFromBase(BlockPicture& picture, const BlockBase& base) {
    const BlockPicture& fine = base.picture;
    const std::int64_t down = picture.blockRows / fine.blockRows;
    const std::int64_t right = picture.blockColumns / fine.blockColumns;
    const std::int64_t top = picture.window.row / fine.blockRows;
    const std::int64_t left = picture.window.column / fine.blockColumns;
    const auto fillRow = [&](int, std::int64_t y) {
        for (std::int64_t x = 0; x < picture.width; ++x) {
            BlockCell cell;
            for (std::int64_t v = top + y * down; v < std::min(top + (y + 1) * down, fine.height); ++v) {
                for (std::int64_t u = left + x * right; u < std::min(left + (x + 1) * right, fine.width); ++u) {
                    const std::size_t place = fine.cell(v, u);
                    const std::int64_t missing = base.missing.empty() ? 0 : base.missing[place];
                    const std::int64_t finite = numbersOf(fine, v, u) - missing;
                    cell.add(static_cast<double>(fine.means[place]) * static_cast<double>(finite), finite, missing,
                             fine.largest[place]);
                }
            }
            cell.write(picture, picture.cell(y, x));
        }
    };
    eachTask(picture.height, fillRow, {});
}

/// The rows of a block that a sampled picture reads, evenly spread.
std::int64_t sampledRow(std::int64_t index, std::int64_t count, std::int64_t rows) {
    return (2 * index + 1) * rows / (2 * count);
}

/// Reads the first columns of each block of a row, one block after another.
void readSample(const NumberGrid& grid, const BlockPicture& picture, std::int64_t row, std::int64_t columnsOfCell,
                std::vector<float>& numbers) {
    const GridWindow& window = picture.window;
    const std::int64_t start = row * grid.columns() + window.column;
    if (columnsOfCell == picture.blockColumns) {
        grid.read(start, std::span(numbers).first(static_cast<std::size_t>(window.columns)));
        return;
    }
    for (std::int64_t x = 0; x < picture.width; ++x) {
        const std::int64_t column = x * picture.blockColumns;
        const auto count = static_cast<std::size_t>(std::min(columnsOfCell, window.columns - column));
        grid.read(start + column, std::span(numbers).subspan(static_cast<std::size_t>(x * columnsOfCell), count));
    }
}

/// Reads some rows of a row of blocks.
class BlockSampling {
public:
    BlockSampling(const NumberGrid& grid, BlockPicture& picture)
        : m_grid(grid)
        , m_picture(picture)
        , m_columnsOfCell(std::min(picture.blockColumns, sampledColumns)) {
        const std::int64_t ofRow = std::max<std::int64_t>(1, picture.width * m_columnsOfCell);
        m_rowsOfCell =
            std::clamp<std::int64_t>(sampledNumbers / (ofRow * std::max<std::int64_t>(1, picture.height)), 1, 4);
        picture.isSampled = picture.blockRows > m_rowsOfCell || picture.blockColumns > m_columnsOfCell;
    }

    void readTask(std::int64_t y, BlockWorker& worker) {
        const std::int64_t first = m_picture.window.row + y * m_picture.blockRows;
        const std::int64_t rows = std::min(m_picture.blockRows, m_picture.window.row + m_picture.window.rows - first);
        const std::int64_t count = std::min(m_rowsOfCell, rows);
        worker.numbers.assign(static_cast<std::size_t>(m_picture.width * m_columnsOfCell * count), 0);
        const std::int64_t width = m_picture.width * m_columnsOfCell;
        std::vector<float> row(static_cast<std::size_t>(width));
        worker.columns.start(width);
        for (std::int64_t i = 0; i < count; ++i) {
            readSample(m_grid, m_picture, first + sampledRow(i, count, rows), m_columnsOfCell, row);
            worker.columns.add(row.data());
            std::copy(row.begin(), row.end(), worker.numbers.begin() + i * width);
        }
        for (std::int64_t x = 0; x < m_picture.width; ++x)
            write(y, x, count, worker);
    }

private:
    void write(std::int64_t y, std::int64_t x, std::int64_t rows, const BlockWorker& worker) {
        const std::int64_t width = m_picture.width * m_columnsOfCell;
        const std::int64_t begin = x * m_columnsOfCell;
        const std::int64_t count = std::min(m_columnsOfCell, m_picture.window.columns - x * m_picture.blockColumns);
        BlockCell cell;
        if (!cell.add(worker.columns, static_cast<std::size_t>(begin), static_cast<std::size_t>(begin + count), rows))
            for (std::int64_t i = 0; i < rows; ++i)
                for (std::int64_t column = begin; column < begin + count; ++column)
                    cell.add(worker.numbers[static_cast<std::size_t>(i * width + column)]);
        cell.write(m_picture, m_picture.cell(y, x));
    }

    const NumberGrid& m_grid;
    BlockPicture& m_picture;
    std::int64_t m_columnsOfCell;
    std::int64_t m_rowsOfCell;
};

} // namespace

std::int64_t blockSize(std::int64_t numbers, std::int64_t cells) {
    std::int64_t block = 1;
    while ((numbers + block - 1) / block > std::max<std::int64_t>(1, cells))
        block *= 2;
    return block;
}

BlockPyramid::BlockPyramid(std::shared_ptr<const NumberGrid> grid)
    : m_grid(std::move(grid)) {}

std::shared_ptr<const BlockBase> BlockPyramid::base() const {
    const std::lock_guard lock(m_mutex);
    return m_base;
}

bool BlockPyramid::isInMemory(std::int64_t blockRows, std::int64_t blockColumns) const {
    const auto known = base();
    return known && blockRows >= known->picture.blockRows && blockColumns >= known->picture.blockColumns;
}

std::int64_t BlockPyramid::cells() const {
    return baseBlocks(*m_grid).cellsOf(*m_grid);
}

void BlockPyramid::build(const Progress& progress) {
    if (base())
        return;
    const auto [blockRows, blockColumns] = baseBlocks(*m_grid);
    auto built = std::make_shared<BlockBase>();
    built->picture = emptyPicture(*m_grid, {0, 0, m_grid->rows(), m_grid->columns()}, blockRows, blockColumns);
    BlockReading(*m_grid, built->picture, &built->missing).run(progress);
    m_grid->check();
    built->picture.notFinite = {};
    const std::lock_guard lock(m_mutex);
    m_base = std::move(built);
}

BlockPicture BlockPyramid::sampled(GridWindow window, std::int64_t blockRows, std::int64_t blockColumns,
                                   std::optional<BlockValue> only) const {
    if (isInMemory(blockRows, blockColumns))
        return picture(window, blockRows, blockColumns, {}, only);
    BlockPicture picture = emptyPicture(*m_grid, window, blockRows, blockColumns, only);
    BlockSampling sampling(*m_grid, picture);
    std::vector<BlockWorker> workers = blockWorkers();
    eachTask(picture.height,
             [&](int worker, std::int64_t y) { sampling.readTask(y, workers[static_cast<std::size_t>(worker)]); }, {});
    m_grid->check();
    return picture;
}

BlockPicture BlockPyramid::picture(GridWindow window, std::int64_t blockRows, std::int64_t blockColumns,
                                   const Progress& progress, std::optional<BlockValue> only) const {
    BlockPicture picture = emptyPicture(*m_grid, window, blockRows, blockColumns, only);
    if (const auto known = base(); known && isInMemory(blockRows, blockColumns)) {
        fillFromBase(picture, *known);
        return picture;
    }
    BlockReading(*m_grid, picture).run(progress);
    m_grid->check();
    return picture;
}

} // namespace secateur
