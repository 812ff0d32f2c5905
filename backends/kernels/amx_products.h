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

// What products on matrix tiles are made of: packed factors, and the blocks that threads share out. For sources only:
// pulls in ATen.

constexpr std::int64_t parts(std::int64_t whole, std::int64_t part) {
    return (whole + part - 1) / part;
}

/// A factor and the memory that it is packed in.
class Packed {
public:
    /// Room alone.
    Packed(Side side, std::int64_t width, std::int64_t terms);
    /// @param matrix [rows or columns, terms] bfloat16, one stride of which is 1
    Packed(const at::Tensor& matrix, Side side);

    const Factor& factor() const { return m_factor; }

    /// Packs rows [rows, terms] bfloat16, whose terms lie side by side, from strip `first` on.
    void fill(const at::Tensor& rows, std::int64_t first);

private:
    void fillPiece(const at::Tensor& matrix, std::int64_t strip, std::int64_t step, std::byte* piece) const;

    Factor m_factor;
    at::Tensor m_memory;
};

/// The blocks of a product, in the order in which neighbours share their left side; of one that equals its own
/// transpose those on the diagonal and below.
class Blocks {
public:
    Blocks(const Factor& left, const Factor& right, bool isSymmetric);

    std::int64_t count() const { return static_cast<std::int64_t>(m_blocks.size()); }
    const Block& at(std::int64_t index) const { return m_blocks[static_cast<std::size_t>(index)]; }
    /// That the largest one's products take.
    std::int64_t floats() const {
        return std::min(atOnce(Side::left), m_left) * std::min(atOnce(Side::right), m_right) * productFloats;
    }

    /// Rows and columns of a block at most: its products and chunks stay in the second cache.
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

/// body(row, column, place) for each tile that multiply() leaves of a block: where it lies in the matrix, and among the
/// block's products.
template <typename Body>
void forEachTile(const Block& block, const Body& body) {
    for (std::int64_t column = 0; column < block.rightCount; ++column)
        for (std::int64_t row = block.firstLeft(column); row < block.leftCount; ++row)
            for (std::int64_t tile = 0; tile < tilesOf(Side::right); ++tile)
                body((block.left + row) * widthOf(Side::left),
                     (block.right + column) * widthOf(Side::right) + tile * tileWidth,
                     (column * block.leftCount + row) * productFloats + tile * tileFloats);
}

// Products on matrix tiles (amx_tiles.h) by all threads. For sources only: pulls in ATen.

/// Whether this processor has such tiles, and its system grants their use. Thread-safe.
bool isHere();

/// Whether grams() and squaredNorm() take such factors, and they are large enough to be worth packing.
bool suitsGrams(const at::Tensor& rows, std::int64_t blocks);
bool suitsNorm(const at::Tensor& a, const at::Tensor& b);

/// Gram matrices of each of `blocks` blocks of rows [rows, columns] bfloat16, without the product of their lower halves
/// if they have some. -> [blocks, rows / blocks, rows / blocks] float32, symmetric
at::Tensor grams(const at::Tensor& high, const at::Tensor& low, std::int64_t blocks);

/// ||sum of a^T b over all pairs||_F^2, its squares summed in float64, for a [rows, columns] and b [rows, columns],
/// all bfloat16, all left ones of one shape, and all right ones. The matrix is never held whole. `between` is called
/// every few hundred milliseconds, and may throw.
double squaredNorm(std::span<const std::pair<at::Tensor, at::Tensor>> pairs, const std::function<void()>& between);

// Inner products of Gram matrices on matrix tiles (amx_tiles.h) by all threads. For sources only: pulls in ATen.

/// Whether gramInnerProducts() takes such factors, and they are large enough to be worth packing.
bool suitsGramInnerProducts(const at::Tensor& query, const at::Tensor& key, std::int64_t blocks);

/// Kernels::gramInnerProducts, rounded to bfloat16. No Gram matrix is ever held whole.
GramInnerProducts gramInnerProducts(const at::Tensor& query, const at::Tensor& key, const at::Tensor& gain,
                                    std::int64_t blocks, const std::function<void()>& between);

} // namespace secateur::amx
