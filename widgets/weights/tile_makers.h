#pragma once

#include "analysis/weights/block_pyramid.h"
#include "widgets/weights/tile_run.h"

#include <memory>

namespace secateur {

/// Which number of a block of cells a picture shows.
enum class PixelValue {
    mean,
    largest, ///< of the largest magnitude, with its sign
};

/// Makes tiles of a grid: a sampled one at once, then the exact one. The picture of the whole grid reads it once and
/// keeps a base in memory, from which other pictures with large blocks come.
TileRun::Maker tileMaker(std::shared_ptr<BlockPyramid> pyramid, PixelValue value);

} // namespace secateur
