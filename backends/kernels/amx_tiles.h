#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace secateur::amx {

// Products of bfloat16 matrices on the matrix tiles of Intel's processors (AMX), summed in float32. As with all that
// multiplies there, subnormal numbers count as zero. The inner loops alone; amx_products.h has the products.

/// Whether this program holds them; where it does not, they do nothing. Only processors with such tiles can run them.
extern const bool areBuilt;

/// Tiles are 16 x 16 numbers of float32, or 16 x 32 of bfloat16. A left factor is packed in strips of 16 rows, a right
/// one in strips of 32 columns; the terms of the sums go in steps of 32. Eight steps of some strips in a row lie
/// together (a chunk): one strip of the right factor stays in the first cache meanwhile.
enum class Side { left, right };

constexpr std::int64_t tileWidth = 16;
constexpr std::int64_t tileFloats = tileWidth * tileWidth;
constexpr std::int64_t tileBytes = tileFloats * 4;
constexpr std::int64_t stepDepth = 32;
constexpr std::int64_t chunkSteps = 8;

constexpr std::int64_t tilesOf(Side side) {
    return side == Side::left ? 1 : 2;
}
constexpr std::int64_t widthOf(Side side) {
    return tilesOf(side) * tileWidth;
}

/// A packed factor: of any size, filled up with zeros.
struct Factor {
    std::byte* pieces = nullptr; ///< best at a multiple of 64
    Side side = Side::left;
    std::int64_t strips = 0;
    std::int64_t steps = 0;

    std::int64_t pieceBytes() const { return tilesOf(side) * tileBytes; }
    std::int64_t bytes() const { return strips * steps * pieceBytes(); }
    std::byte* piece(std::int64_t strip, std::int64_t step) const {
        const std::int64_t first = step / chunkSteps * chunkSteps;
        const std::int64_t together = steps - first < chunkSteps ? steps - first : chunkSteps;
        return pieces + (first * strips + strip * together + step - first) * pieceBytes();
    }
};

/// What one piece is packed from: at most as many rows or columns as a strip has, at most 32 terms.
struct Source {
    const std::uint16_t* numbers = nullptr;
    std::int64_t stride = 0;    ///< between terms, or between rows or columns where terms lie side by side
    bool termsAdjacent = false; ///< whether the terms of a sum lie side by side, or rows (columns) of one term do
    std::int64_t width = 0;     ///< rows of the left factor, columns of the right one
    std::int64_t depth = 0;     ///< terms
};

void pack(const Source& source, Side side, std::byte* piece);

/// Some strips of the left factor by some of the right one.
struct Block {
    std::int64_t left = 0;
    std::int64_t leftCount = 0;
    std::int64_t right = 0;
    std::int64_t rightCount = 0;
    bool lowerOnly = false; ///< without the products of strips that lie above the diagonal

    /// The first of its left strips that is multiplied by the right strip `right` + `column`.
    std::int64_t firstLeft(std::int64_t column) const {
        const std::int64_t first = (right + column) * tilesOf(Side::right) - left;
        return !lowerOnly || first < 0 ? 0 : first < leftCount ? first : leftCount;
    }
};

struct Pair {
    Factor left;
    Factor right;
};

/// The product of two strips: two tiles side by side.
constexpr std::int64_t productFloats = 2 * tileFloats;

/// The sum of the products of some pairs: those of each strip of the block's right side by its left ones. Products
/// that are left out are not written.
/// @param products [rightCount, leftCount, productFloats], best at a multiple of 64; `adds` to what is there
void multiply(std::span<const Pair> pairs, const Block& block, bool adds, float* products);

/// Sums over the numbers of two tiles.
struct TileSums {
    float products = 0; ///< of one by the other
    float first = 0;    ///< squares
    float second = 0;
};

TileSums sumsOf(const float* first, const float* second);

} // namespace secateur::amx
