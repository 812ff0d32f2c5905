#pragma once

#include "analysis/model/rows.h"
#include "backends/kernels/amx_tiles.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace secateur::amx {

// Matrix products on AMX tiles (amx_tiles.h), on all threads. For sources only: includes ATen.

/// whole / part, rounded up.
constexpr std::int64_t parts(std::int64_t whole, std::int64_t part) {
    return (whole + part - 1) / part;
}

/// A packed factor of a product; it owns its memory.
class Packed {
public:
    /// Allocates the memory of a factor. fill() fills it.
    Packed(Side side, std::int64_t width, std::int64_t terms);
    /// @param matrix [rows or columns, terms] bfloat16; one of its strides must be 1
    Packed(const at::Tensor& matrix, Side side);

    const Factor& factor() const { return m_factor; }

    /// Packs rows [rows, terms] bfloat16 with contiguous terms, from strip `first` on.
    void fill(const at::Tensor& rows, std::int64_t first);

private:
    void fillPiece(const at::Tensor& matrix, std::int64_t strip, std::int64_t step, std::byte* piece) const;

    Factor m_factor;
    at::Tensor m_memory;
};

/// The blocks of a product, in an order in which consecutive blocks share their left factor. Of a symmetric product,
/// only blocks on and below the diagonal.
class Blocks {
public:
    Blocks(const Factor& left, const Factor& right, bool isSymmetric);

    std::int64_t count() const { return static_cast<std::int64_t>(m_blocks.size()); }
    const Block& at(std::int64_t index) const { return m_blocks[static_cast<std::size_t>(index)]; }
    /// Number of floats for the products of the largest block.
    std::int64_t floats() const {
        return std::min(atOnce(Side::left), m_left) * std::min(atOnce(Side::right), m_right) * productFloats;
    }

    /// Maximum number of rows and columns of a block, so that its products and chunks stay in the L2 cache.
    static constexpr std::int64_t widest = 256;

private:
    std::int64_t atOnce(Side side) const { return m_width / widthOf(side); }
    std::int64_t rows() const { return parts(m_left, atOnce(Side::left)); }
    std::int64_t columns() const { return parts(m_right, atOnce(Side::right)); }

    std::int64_t m_left;
    std::int64_t m_right;
    std::int64_t m_width = widest;
    std::vector<Block> m_blocks;
};

/// Calls body(row, column, place) for each tile of a block that multiply() computes. `row` and `column` are those of
/// the tile's first element in the matrix; `place` is the tile's offset in the block's products.
template <typename Body>
void forEachTile(const Block& block, const Body& body) {
    for (std::int64_t column = 0; column < block.rightCount; ++column)
        for (std::int64_t row = block.firstLeft(column); row < block.leftCount; ++row)
            for (std::int64_t tile = 0; tile < tilesOf(Side::right); ++tile)
                body((block.left + row) * widthOf(Side::left),
                     (block.right + column) * widthOf(Side::right) + tile * tileWidth,
                     (column * block.leftCount + row) * productFloats + tile * tileFloats);
}

/// Whether the processor has matrix tiles, and the operating system allows this program to use them. Thread-safe.
bool isHere();

/// Whether grams() or squaredNorm() supports these factors. They must be so large that packing pays off.
bool suitsGrams(const at::Tensor& rows, std::int64_t blocks);
bool suitsNorm(const at::Tensor& a, const at::Tensor& b);

/// The Gram matrices of `blocks` blocks of rows. The rows are high + low; the product of low with low is left out.
/// -> [blocks, rows / blocks, rows / blocks] float32, symmetric
/// @param high, low [rows, columns] bfloat16; low may be undefined
at::Tensor grams(const at::Tensor& high, const at::Tensor& low, std::int64_t blocks);

/// ||sum over all pairs of a^T b||_F^2, with squares summed in float64. The matrix is never in memory as a whole.
/// @param pairs pairs of a and b, [rows, columns] bfloat16; all a have the same shape, and all b have the same shape
/// @param between called every few hundred milliseconds; may throw
double squaredNorm(std::span<const std::pair<at::Tensor, at::Tensor>> pairs, const std::function<void()>& between);

/// Whether gramInnerProducts() supports these factors. They must be so large that packing pays off.
bool suitsGramInnerProducts(const at::Tensor& query, const at::Tensor& key, std::int64_t blocks);

/// Kernels::gramInnerProducts with factors rounded to bfloat16. No Gram matrix is in memory as a whole.
GramInnerProducts gramInnerProducts(const at::Tensor& query, const at::Tensor& key, const at::Tensor& gain,
                                    std::int64_t blocks, const std::function<void()>& between);

} // namespace secateur::amx
