#include "widgets/weights/picture_figure.h"

#include "widgets/weights/matrix_map.h"

#include <algorithm>

namespace secateur {

namespace {

constexpr int ticksOfAxis = 6;

/// Ticks at round indices of the cells, in blocks from the first one on screen.
std::vector<AxisTick> ticksOf(std::int64_t firstBlock, std::int64_t blocks, std::int64_t perBlock) {
    const std::int64_t step = roundStep(static_cast<double>(blocks * perBlock) / ticksOfAxis);
    std::vector<AxisTick> ticks;
    const std::int64_t first = firstBlock * perBlock;
    for (std::int64_t index = (first + step - 1) / step * step; index < first + blocks * perBlock; index += step)
        ticks.push_back(
            {(static_cast<double>(index - first) + 0.5) / static_cast<double>(perBlock) - 0.5, std::to_string(index)});
    return ticks;
}

} // namespace

Figure figureOf(const MatrixMap& map, const std::string& title, const std::string& label, const ColourScale& scale) {
    const MatrixTile& tile = *map.tile();
    const CellWindow seen = map.visibleCells();
    const auto blockAt = [](std::int64_t cell, std::int64_t first, std::int64_t perBlock, int blocks) {
        return std::clamp<std::int64_t>((cell - first) / perBlock, 0, blocks);
    };
    const std::int64_t top = blockAt(seen.row, tile.window.row, tile.rowsPerBlock, tile.rows);
    const std::int64_t left = blockAt(seen.column, tile.window.column, tile.columnsPerBlock, tile.columns);
    const std::int64_t bottom =
        blockAt(seen.row + seen.rows + tile.rowsPerBlock - 1, tile.window.row, tile.rowsPerBlock, tile.rows);
    const std::int64_t right = blockAt(seen.column + seen.columns + tile.columnsPerBlock - 1, tile.window.column,
                                       tile.columnsPerBlock, tile.columns);
    Figure figure;
    figure.kind = FigureKind::heatMap;
    figure.title = title;
    figure.x.label = "column";
    figure.y.label = "row";
    figure.colour.label = label;
    figure.scale = scale;
    figure.cells = Matrix(static_cast<std::size_t>(bottom - top), static_cast<std::size_t>(right - left));
    for (std::int64_t row = top; row < bottom; ++row)
        for (std::int64_t column = left; column < right; ++column)
            figure.cells(static_cast<std::size_t>(row - top), static_cast<std::size_t>(column - left)) =
                static_cast<double>(tile.values[static_cast<std::size_t>(row * tile.columns + column)]);
    figure.x.ticks = ticksOf(tile.window.column / tile.columnsPerBlock + left, right - left, tile.columnsPerBlock);
    figure.y.ticks = ticksOf(tile.window.row / tile.rowsPerBlock + top, bottom - top, tile.rowsPerBlock);
    figure.caption = title + ", " + label +
                     (tile.isExact() ? std::string()
                                     : "; a cell stands for " + std::to_string(tile.rowsPerBlock) + " x " +
                                           std::to_string(tile.columnsPerBlock) + " numbers") +
                     ".";
    return figure;
}

} // namespace secateur
