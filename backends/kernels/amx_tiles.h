#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace secateur::amx {

// The inner loops of products of bfloat16 matrices on the matrix tiles of Intel's processors (AMX), summed in float32.
// The tiles treat subnormal numbers as zero. amx_products.h has the products themselves.

/// Whether the loops were compiled into this program; otherwise they do nothing. They may be called only on processors
/// with tiles.
extern const bool areBuilt;

/// The side of a factor in a product. A tile has 16 x 16 numbers of float32, or 16 x 32 of bfloat16. A left factor is
/// packed in strips of 16 rows, a right factor in strips of 32 columns; the terms of the sums are divided into steps of
/// 32. For each eight steps (a chunk), all strips are stored one after another, so that a strip of the right factor's
/// chunk stays in the L1 cache.
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

/// A packed factor of any size, padded with zeros. A piece is one step of one strip.
struct Factor {
    std::byte* pieces = nullptr; ///< fastest if aligned to 64 bytes
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

/// The source of one piece: at most one strip of rows or columns, and at most 32 terms.
struct Source {
    const std::uint16_t* numbers = nullptr;
    std::int64_t stride = 0;    ///< between rows (columns) if termsAdjacent, else between terms
    bool termsAdjacent = false; ///< whether the terms of a row (column) are contiguous; else the rows (columns) are
    std::int64_t width = 0;     ///< number of rows of the left factor, or columns of the right one
    std::int64_t depth = 0;     ///< number of terms
};

void pack(const Source& source, Side side, std::byte* piece);

/// A block of a product: consecutive strips of the left factor times consecutive strips of the right one.
struct Block {
    std::int64_t left = 0;
    std::int64_t leftCount = 0;
    std::int64_t right = 0;
    std::int64_t rightCount = 0;
    bool lowerOnly = false; ///< whether products of strips above the diagonal are skipped

    /// Index, within the block, of the first left strip that is multiplied with the right strip `right` + `column`.
    std::int64_t firstLeft(std::int64_t column) const {
        const std::int64_t first = (right + column) * tilesOf(Side::right) - left;
        return !lowerOnly || first < 0 ? 0 : first < leftCount ? first : leftCount;
    }
};

struct Pair {
    Factor left;
    Factor right;
};

/// Size of the product of two strips: two adjacent tiles.
constexpr std::int64_t productFloats = 2 * tileFloats;

/// Computes the sum of the products of all pairs, for the strips of a block. Skipped products are not written.
/// @param adds whether to add to `products` instead of replacing them
/// @param products [rightCount, leftCount, productFloats], fastest if aligned to 64 bytes
void multiply(std::span<const Pair> pairs, const Block& block, bool adds, float* products);

/// Sums over the numbers of two tiles.
struct TileSums {
    float products = 0; ///< element-wise products
    float first = 0;    ///< squares of the first tile
    float second = 0;   ///< squares of the second tile
};

TileSums sumsOf(const float* first, const float* second);

} // namespace secateur::amx
