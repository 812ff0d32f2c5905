#pragma once

#include <cstddef>
#include <cstdint>

namespace secateur {

// Products of rows of bfloat16 numbers with packed factors, with sums in float32. A header without inline functions,
// because sources that are compiled for one instruction set include it.

/// The product of 16 rows, which are not packed, and a right factor that amx::pack() packed (amx_tiles.h).
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

/// The product of rows, which are not packed, and some columns of a weight in panels (WeightPanels). Columns are
/// counted in tiles of 16.
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
    bool adds = false;               ///< whether the product is added to the result instead of replacing it
    const std::byte* next = nullptr; ///< panel that is probably read next, to be prefetched; null = none

    static constexpr std::int64_t panelTiles = 4;
};

/// These products on one kind of processor. The result for a row depends on no other row.
struct RowProducts {
    void (*multiplyPieces)(const RowProduct& product);
    void (*multiplyPanels)(const PanelRows& product);
};

/// The products of this processor: on matrix tiles (AMX), otherwise in vectors (AVX-512 with its bfloat16
/// instructions). Null if it has neither.
const RowProducts* rowProducts();

enum class RowProductKind { none, vectors, tiles };

/// For tests and benchmarks: makes rowProducts() return those of a kind. Returns false if this processor does not have
/// the instructions, or the products were not compiled.
bool useRowProducts(RowProductKind kind);

} // namespace secateur
