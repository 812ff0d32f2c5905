#pragma once

#include "analysis/base/progress.h"
#include "analysis/weights/number_grid.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace secateur {

/// A rectangle of a grid.
struct GridWindow {
    std::int64_t row = 0;
    std::int64_t column = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    bool operator==(const GridWindow&) const = default;
};

/// Which number of a block is shown.
enum class BlockValue {
    mean,
    largest, ///< of the largest magnitude, with its sign
};

/// A picture of a window: one cell for each block of numbers. Blocks lie on a fixed raster: they begin at multiples of
/// their size. The blocks at the lower and right edges of the grid may be smaller.
struct BlockPicture {
    GridWindow window;             ///< the numbers that the cells cover: the requested window, extended to whole blocks
    std::int64_t blockRows = 1;    ///< numbers of a block from top to bottom; a power of two
    std::int64_t blockColumns = 1; ///< numbers of a block from left to right; a power of two
    std::int64_t height = 0;       ///< cells from top to bottom
    std::int64_t width = 0;
    std::vector<float> means;   ///< [height, width] mean of the block's finite numbers; NaN = it has none
    std::vector<float> largest; ///< [height, width] finite number of the largest magnitude, with its sign (positive if
                                ///< both signs have it); NaN = the block has none. Of the two only one may be wanted;
                                ///< the other is empty
    std::vector<std::uint8_t> notFinite; ///< [height, width] 1 if a NaN or infinite number is in the block
    bool isSampled = false;              ///< whether only some numbers of each block were read

    std::size_t cell(std::int64_t y, std::int64_t x) const { return static_cast<std::size_t>(y * width + x); }
};

/// The smallest power of two by which `numbers` can be divided into at most `cells` blocks.
std::int64_t blockSize(std::int64_t numbers, std::int64_t cells);

struct BlockBase;

/// Pictures of a grid at any zoom. After build(), pictures with large blocks come from a base of at most baseCells
/// cells in memory; those with smaller blocks read their window. Any thread may call its functions.
class BlockPyramid {
public:
    static constexpr std::int64_t baseCells = 2 << 20; ///< 8 bytes each; 12 if there are numbers that are not finite

    explicit BlockPyramid(std::shared_ptr<const NumberGrid> grid);

    const NumberGrid& grid() const { return *m_grid; }

    /// A picture from some numbers of each block, about 4 million in all: a few rows, and of these at most 32 columns.
    /// @param blockRows, blockColumns powers of two. The window must have less than 2^24 blocks @param only the value
    /// that is wanted; nothing = both @throws Error if the file was truncated
    BlockPicture sampled(GridWindow window, std::int64_t blockRows, std::int64_t blockColumns,
                         std::optional<BlockValue> only = {}) const;
    /// The exact picture. Blocks of single numbers contain the number itself. @param only as for sampled()
    /// @throws Error if the file was truncated; Cancelled
    BlockPicture picture(GridWindow window, std::int64_t blockRows, std::int64_t blockColumns,
                         const Progress& progress = {}, std::optional<BlockValue> only = {}) const;
    /// Reads the whole grid once and keeps the base. Called again it does nothing.
    /// @throws Error if the file was truncated; Cancelled
    void build(const Progress& progress = {});
    /// Cells of the base, also before build(): its size in memory.
    std::int64_t cells() const;
    /// Whether picture() with these blocks needs no reading.
    bool isInMemory(std::int64_t blockRows, std::int64_t blockColumns) const;

private:
    std::shared_ptr<const BlockBase> base() const;

    std::shared_ptr<const NumberGrid> m_grid;
    mutable std::mutex m_mutex;
    std::shared_ptr<const BlockBase> m_base; ///< null before build()
};

} // namespace secateur
