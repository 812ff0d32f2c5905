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

// Products on matrix tiles (amx_tiles.h) by all threads. For sources only: pulls in ATen.

/// The number of parts that cover the whole, rounded up.
constexpr std::int64_t parts(std::int64_t whole, std::int64_t part) {
    return (whole + part - 1) / part;
}

/// A factor and its memory.
class Packed {
public:
    /// Allocates a factor without filling it.
    Packed(Side side, std::int64_t width, std::int64_t terms);
    /// @param matrix [rows or columns, terms] bfloat16, one stride of which is 1
    Packed(const at::Tensor& matrix, Side side);

    const Factor& factor() const { return m_factor; }

    /// Packs rows [rows, terms] bfloat16 with contiguous terms, from strip `first` on.
    void fill(const at::Tensor& rows, std::int64_t first);

private:
    void fillPiece(const at::Tensor& matrix, std::int64_t strip, std::int64_t step, std::byte* piece) const;

    Factor m_factor;
    at::Tensor m_memory;
};

/// The blocks of a product, ordered so that consecutive ones share their left side. Of a symmetric product only those
/// on and below the diagonal.
class Blocks {
public:
    Blocks(const Factor& left, const Factor& right, bool isSymmetric);

    std::int64_t count() const { return static_cast<std::int64_t>(m_blocks.size()); }
    const Block& at(std::int64_t index) const { return m_blocks[static_cast<std::size_t>(index)]; }
    /// Number of products of the largest block.
    std::int64_t floats() const {
        return std::min(atOnce(Side::left), m_left) * std::min(atOnce(Side::right), m_right) * productFloats;
    }

    /// Maximum number of rows and columns of a block: its products and chunks stay in the L2 cache.
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

/// Calls body(row, column, place) for each tile that multiply() computes of a block: its position in the matrix, and
/// its index in the block's products.
template <typename Body>
void forEachTile(const Block& block, const Body& body) {
    for (std::int64_t column = 0; column < block.rightCount; ++column)
        for (std::int64_t row = block.firstLeft(column); row < block.leftCount; ++row)
            for (std::int64_t tile = 0; tile < tilesOf(Side::right); ++tile)
                body((block.left + row) * widthOf(Side::left),
                     (block.right + column) * widthOf(Side::right) + tile * tileWidth,
                     (column * block.leftCount + row) * productFloats + tile * tileFloats);
}

/// Whether the processor has matrix tiles and the operating system permits their use. Thread-safe.
bool isHere();

/// Whether grams() and squaredNorm() support these factors, and they are large enough to be worth packing.
bool suitsGrams(const at::Tensor& rows, std::int64_t blocks);
bool suitsNorm(const at::Tensor& a, const at::Tensor& b);

/// Gram matrices of each of `blocks` blocks of rows [rows, columns] bfloat16, without the product of the lower halves
/// if there are some. -> [blocks, rows / blocks, rows / blocks] float32, symmetric
at::Tensor grams(const at::Tensor& high, const at::Tensor& low, std::int64_t blocks);

/// ||sum of a^T b over all pairs||_F^2, with squares summed in float64, for a [rows, columns] and b [rows, columns] in
/// bfloat16. All left factors have one shape, and all right factors. The matrix is never held whole. `between` is
/// called every few hundred milliseconds, and may throw.
double squaredNorm(std::span<const std::pair<at::Tensor, at::Tensor>> pairs, const std::function<void()>& between);

/// Whether gramInnerProducts() supports these factors, and they are large enough to be worth packing.
bool suitsGramInnerProducts(const at::Tensor& query, const at::Tensor& key, std::int64_t blocks);

/// Kernels::gramInnerProducts with factors rounded to bfloat16. No Gram matrix is held whole.
GramInnerProducts gramInnerProducts(const at::Tensor& query, const at::Tensor& key, const at::Tensor& gain,
                                    std::int64_t blocks, const std::function<void()>& between);

} // namespace secateur::amx
