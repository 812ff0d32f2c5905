#pragma once

#include "analysis/weights/block_pyramid.h"
#include "widgets/weights/tile_run.h"

#include <memory>

namespace secateur {

/// Makes tiles of a grid: a sampled one at once, then the exact one. The picture of the whole grid reads it once and
/// keeps a base in memory, from which other pictures with large blocks come.
TileRun::Maker tileMaker(std::shared_ptr<BlockPyramid> pyramid, BlockValue value);

} // namespace secateur
