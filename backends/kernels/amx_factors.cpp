#include "backends/kernels/amx_factors.h"

#include "backends/kernels/share_out.h"

#include <ATen/ATen.h>

namespace secateur::amx {

Packed::Packed(Side side, std::int64_t width, std::int64_t terms)
    : m_factor{nullptr, side, parts(width, widthOf(side)), parts(terms, stepDepth)} {
    constexpr std::int64_t alignment = 64;
    m_memory = at::empty({m_factor.bytes() + alignment}, at::kByte);
    const auto place = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(m_memory.data_ptr()));
    m_factor.pieces = static_cast<std::byte*>(m_memory.data_ptr()) + (alignment - place % alignment) % alignment;
}

Packed::Packed(const at::Tensor& matrix, Side side)
    : Packed(side, matrix.size(0), matrix.size(1)) {
    // Along what lies side by side in the source.
    if (matrix.stride(1) == 1)
        forEachRow(m_factor.strips, widthOf(side) * matrix.size(1), [&](std::int64_t strip) {
            for (std::int64_t step = 0; step < m_factor.steps; ++step)
                fillPiece(matrix, strip, step, m_factor.piece(strip, step));
        });
    else
        forEachRow(m_factor.steps, stepDepth * matrix.size(0), [&](std::int64_t step) {
            for (std::int64_t strip = 0; strip < m_factor.strips; ++strip)
                fillPiece(matrix, strip, step, m_factor.piece(strip, step));
        });
}

void Packed::fill(const at::Tensor& rows, std::int64_t first) {
    for (std::int64_t strip = 0; strip < parts(rows.size(0), widthOf(m_factor.side)); ++strip)
        for (std::int64_t step = 0; step < m_factor.steps; ++step)
            fillPiece(rows, strip, step, m_factor.piece(first + strip, step));
}

void Packed::fillPiece(const at::Tensor& matrix, std::int64_t strip, std::int64_t step, std::byte* piece) const {
    const bool termsAdjacent = matrix.stride(1) == 1;
    const std::int64_t width = widthOf(m_factor.side);
    const std::int64_t row = strip * width;
    const std::int64_t term = step * stepDepth;
    const auto* numbers = static_cast<const std::uint16_t*>(matrix.data_ptr());
    pack({numbers + row * matrix.stride(0) + term * matrix.stride(1), matrix.stride(termsAdjacent ? 0 : 1),
          termsAdjacent, std::min(width, matrix.size(0) - row), std::min(stepDepth, matrix.size(1) - term)},
         m_factor.side, piece);
}

Blocks::Blocks(const Factor& left, const Factor& right, bool isSymmetric)
    : m_left(left.strips)
    , m_right(right.strips) {
    // Enough of them for all threads to end together.
    const std::int64_t threads = at::in_parallel_region() ? 1 : at::get_num_threads();
    while (m_width > widthOf(Side::right) && rows() * columns() < 4 * threads)
        m_width /= 2;
    for (std::int64_t row = 0; row < rows(); ++row)
        for (std::int64_t column = 0; column < (isSymmetric ? row + 1 : columns()); ++column)
            m_blocks.push_back(
                {row * atOnce(Side::left), std::min(atOnce(Side::left), m_left - row * atOnce(Side::left)),
                 column * atOnce(Side::right), std::min(atOnce(Side::right), m_right - column * atOnce(Side::right)),
                 isSymmetric && row == column});
}

} // namespace secateur::amx
