#pragma once

#include "backends/kernels/bfloat16_rows.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace secateur::amx {

// The inner loops of products of bfloat16 matrices on the matrix tiles of Intel processors (AMX). Sums are float32. The
// tiles treat subnormal numbers as zero. The products themselves are in amx_products.h.

/// Whether the loops were compiled into this program. If not, they do nothing. They may be called only on processors
/// with tiles; pack() needs AVX-512 only.
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

/// A packed factor of any size, padded with zeros. A piece of it is one step of one strip.
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

/// The numbers of one piece before they are packed: of at most one strip of rows or columns, and at most 32 terms.
struct Unpacked {
    const std::uint16_t* numbers = nullptr;
    std::int64_t stride = 0;    ///< distance between rows (columns) if termsAdjacent, otherwise between terms
    bool termsAdjacent = false; ///< whether the terms of a row (column) are contiguous; if not, the rows (columns) are
    std::int64_t width = 0;     ///< number of rows of the left factor, or columns of the right one
    std::int64_t depth = 0;     ///< number of terms
};

void pack(const Unpacked& source, Side side, std::byte* piece);

/// A block of a product: consecutive strips of the left factor times consecutive strips of the right factor.
struct Block {
    std::int64_t left = 0;
    std::int64_t leftCount = 0;
    std::int64_t right = 0;
    std::int64_t rightCount = 0;
    bool lowerOnly = false; ///< whether products of strips above the diagonal are skipped

    /// Index in the block of the first left strip that is multiplied with the right strip `right` + `column`.
    std::int64_t firstLeft(std::int64_t column) const {
        const std::int64_t first = (right + column) * tilesOf(Side::right) - left;
        return !lowerOnly || first < 0 ? 0 : first < leftCount ? first : leftCount;
    }
};

struct Pair {
    Factor left;
    Factor right;
};

/// Number of floats in the product of two strips, which is two adjacent tiles.
constexpr std::int64_t productFloats = 2 * tileFloats;

/// Computes the sum of the products of all pairs for the strips of a block. Products that are skipped are not written.
/// @param adds whether the sum is added to `products` instead of replacing it
/// @param products [rightCount, leftCount, productFloats]; fastest if aligned to 64 bytes
void multiply(std::span<const Pair> pairs, const Block& block, bool adds, float* products);

void multiply(const RowProduct& product);
void multiply(const PanelRows& product);

/// Sums over the elements of two tiles.
struct TileSums {
    float products = 0; ///< sum of element-wise products
    float first = 0;    ///< sum of the squares of the first tile
    float second = 0;   ///< sum of the squares of the second tile
};

TileSums sumsOf(const float* first, const float* second);

} // namespace secateur::amx
