#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace secateur::amx {

// Products of bfloat16 matrices on the matrix tiles of Intel's processors (AMX), summed in float32. As with all that
// multiplies there, subnormal numbers count as zero. The inner loops alone; amx_products.h has the products.

/// Whether this program holds them; where it does not, they do nothing. Only processors with such tiles can run them.
extern const bool areBuilt;

/// Both factors are packed in pieces: 32 rows of the left one, or 32 columns of the right one (a panel), by 32 terms
/// of the sums (a step). Panels of some steps in a row lie together, so that they stay in the processor's caches.
constexpr std::int64_t panelWidth = 32;
constexpr std::int64_t stepDepth = 32;
constexpr std::int64_t stepsTogether = 32;
constexpr std::int64_t pieceBytes = panelWidth * stepDepth * 2;

enum class Side { left, right };

/// A packed factor: of any size, filled up with zeros.
struct Factor {
    std::byte* pieces = nullptr; ///< panels * steps * pieceBytes, best at a multiple of 64
    std::int64_t panels = 0;
    std::int64_t steps = 0;

    std::byte* piece(std::int64_t panel, std::int64_t step) const {
        const std::int64_t first = step / stepsTogether * stepsTogether;
        const std::int64_t together = steps - first < stepsTogether ? steps - first : stepsTogether;
        return pieces + (first * panels + panel * together + step - first) * pieceBytes;
    }
};

/// What one piece is packed from: at most 32 rows or columns, at most 32 terms.
struct Source {
    const std::uint16_t* numbers = nullptr;
    std::int64_t stride = 0;    ///< between terms, or between rows or columns where terms lie side by side
    bool termsAdjacent = false; ///< whether the terms of a sum lie side by side, or rows (columns) of one term do
    std::int64_t width = 0;     ///< rows of the left factor, columns of the right one
    std::int64_t depth = 0;     ///< terms
};

void pack(const Source& source, Side side, std::byte* piece);

/// Some panels of the left factor by some of the right one.
struct Block {
    std::int64_t left = 0;
    std::int64_t leftCount = 0;
    std::int64_t right = 0;
    std::int64_t rightCount = 0;
};

struct Pair {
    Factor left;
    Factor right;
};

/// A product of two panels: four tiles of 16 x 16 numbers, upper left, upper right, lower left, lower right.
constexpr std::int64_t tileWidth = 16;
constexpr std::int64_t tileFloats = tileWidth * tileWidth;
constexpr std::int64_t productFloats = 4 * tileFloats;

/// The sum of the products of some pairs: those of each panel of the block's right side by all of its left side.
/// @param products [rightCount, leftCount, productFloats], best at a multiple of 64
void multiply(std::span<const Pair> pairs, const Block& block, float* products);

} // namespace secateur::amx
