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

/// Only on processors with tiles, and only if areBuilt (amx_tiles.h).
void multiply(const RowProduct& product);

} // namespace secateur::amx
