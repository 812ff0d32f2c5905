#pragma once

#include <cstddef>
#include <cstdint>

namespace secateur::amx {

/// The product of 16 rows of bfloat16 numbers, which are not packed, and a packed right factor (amx_tiles.h). A header
/// of its own without inline functions, because sources that are compiled for one instruction set include it.
struct RowProduct {
    const std::uint16_t* rows = nullptr; ///< [16, 32 steps], rowStride from one row to the next
    std::int64_t rowStride = 0;
    const std::byte* pieces = nullptr; ///< first step of the first strip of 32 columns
    std::int64_t steps = 0;
    std::int64_t strips = 0;
    std::int64_t stepBytes = 0;  ///< distance between the steps of a strip
    std::int64_t stripBytes = 0; ///< distance between strips
    float* result = nullptr;     ///< [16, 32 strips], resultStride from one row to the next
    std::int64_t resultStride = 0;
    bool adds = false; ///< whether the product is added to the result instead of replacing it

    static constexpr std::int64_t height = 16;
    static constexpr std::int64_t width = 32; ///< of a strip, and terms of a step
    static constexpr std::int64_t pieceBytes = 2048;
};

/// The product of rows of bfloat16 numbers, which are not packed, and some columns of a weight in panels
/// (WeightPanels). Columns are counted in tiles of 16.
struct PanelRows {
    const std::uint16_t* rows = nullptr; ///< [count, at least 32 steps], rowStride from one row to the next
    std::int64_t rowStride = 0;
    std::int64_t count = 0;
    std::int64_t steps = 0;               ///< whole steps of 32 terms
    const std::uint16_t* rests = nullptr; ///< [count, 32] the terms after them, padded with zeros; null = none
    const std::byte* panels = nullptr;    ///< panels of [steps, 16, 64, 2] numbers, panelBytes each
    std::int64_t panelBytes = 0;
    std::int64_t firstTile = 0;
    std::int64_t tiles = 0;
    std::int64_t lastColumns = 16; ///< number of columns of the last tile
    float* result = nullptr;       ///< [count, columns of all tiles], resultStride from one row to the next
    std::int64_t resultStride = 0;
    bool adds = false; ///< whether the product is added to the result instead of replacing it
    const std::byte* next = nullptr; ///< panel that is probably read next, to be prefetched; null = none

    static constexpr std::int64_t panelTiles = 4;
};

/// Only on processors with tiles, and only if areBuilt (amx_tiles.h).
void multiply(const RowProduct& product);
void multiply(const PanelRows& product);

} // namespace secateur::amx
