#include "widgets/weights/tile_makers.h"

#include <algorithm>
#include <utility>

namespace secateur {

namespace {

constexpr std::int64_t readAtOnce = 1'000'000; ///< numbers that are read within a frame or two

GridWindow gridWindow(const CellWindow& window) {
    return {window.row, window.column, window.rows, window.columns};
}

MatrixTile tileOf(BlockPicture picture, const NumberGrid& grid, BlockValue value) {
    MatrixTile tile;
    const GridWindow& seen = picture.window;
    tile.window = {seen.row, seen.column, std::min(seen.rows, grid.rows() - seen.row),
                   std::min(seen.columns, grid.columns() - seen.column)};
    tile.rows = static_cast<int>(picture.height);
    tile.columns = static_cast<int>(picture.width);
    tile.rowsPerBlock = picture.blockRows;
    tile.columnsPerBlock = picture.blockColumns;
    tile.isCoarse = picture.isSampled;
    tile.values = std::move(value == BlockValue::mean ? picture.means : picture.largest);
    if (std::ranges::any_of(picture.notFinite, [](std::uint8_t isOdd) { return isOdd != 0; }))
        tile.notFinite.assign(picture.notFinite.begin(), picture.notFinite.end());
    return tile;
}

} // namespace

TileRun::Maker tileMaker(std::shared_ptr<BlockPyramid> pyramid, BlockValue value) {
    return [pyramid = std::move(pyramid), value](const TileRequest& request, const TileRun::Sink& coarse,
                                                 const Progress& progress) {
        const NumberGrid& grid = pyramid->grid();
        const GridWindow window = gridWindow(request.window);
        const auto isInMemory = [&] { return pyramid->isInMemory(request.rowsPerBlock, request.columnsPerBlock); };
        if (!isInMemory() && window.rows * window.columns > readAtOnce)
            coarse(tileOf(pyramid->sampled(window, request.rowsPerBlock, request.columnsPerBlock, value), grid, value));
        if (!isInMemory() && window == GridWindow{0, 0, grid.rows(), grid.columns()})
            pyramid->build(progress);
        return tileOf(pyramid->picture(window, request.rowsPerBlock, request.columnsPerBlock, progress, value), grid,
                      value);
    };
}

} // namespace secateur
