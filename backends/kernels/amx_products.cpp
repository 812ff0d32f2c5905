#include "backends/kernels/amx_products.h"

#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/rounding.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

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
    // The inner loop follows the contiguous dimension of the source.
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
    // Each thread gets several blocks, so that all threads end at about the same time.
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

namespace {

bool hasUnitStride(const at::Tensor& matrix) {
    return matrix.stride(-1) == 1 || matrix.stride(-2) == 1;
}

/// A matrix whose rows are packed as both factors of its Gram matrix.
class PackedRows {
public:
    /// The rows are the sums high + low. @param low may be undefined
    PackedRows(const at::Tensor& high, const at::Tensor& low) {
        const Pair pair = add(high);
        m_pairs = {pair};
        if (!low.defined())
            return;
        const Pair lower = add(low);
        m_pairs.push_back({lower.left, pair.right});
        m_pairs.push_back({pair.left, lower.right});
    }

    /// The pairs of factors whose products are summed: high high, high low and low high.
    std::span<const Pair> pairs() const { return m_pairs; }

private:
    Pair add(const at::Tensor& rows) {
        const Factor left = m_packed.emplace_back(rows, Side::left).factor();
        return {left, m_packed.emplace_back(rows, Side::right).factor()};
    }

    std::vector<Packed> m_packed;
    std::vector<Pair> m_pairs;
};

/// Copies the products of a block to their places in the matrix, without the padding of strips.
void unpack(const float* products, const Block& block, const at::Tensor& to) {
    forEachTile(block, [&](std::int64_t row, std::int64_t column, std::int64_t begin) {
        const float* from = products + begin;
        const std::int64_t columns = std::clamp<std::int64_t>(to.size(1) - column, 0, tileWidth);
        float* place = to.data_ptr<float>() + row * to.stride(0) + column;
        for (std::int64_t i = 0; i < std::min(tileWidth, to.size(0) - row); ++i, place += to.stride(0)) {
            if (columns == tileWidth)
                std::memcpy(place, from + i * tileWidth, tileWidth * sizeof(float)); // fixed size: inlined
            else
                std::copy_n(from + i * tileWidth, columns, place);
        }
    });
}

/// Copies the elements below the diagonal to their mirror places above the diagonal.
void mirror(const Block& block, const at::Tensor& square) {
    const std::int64_t row = block.left * widthOf(Side::left);
    const std::int64_t column = block.right * widthOf(Side::right);
    const std::int64_t rowsEnd = std::min(row + block.leftCount * widthOf(Side::left), square.size(0));
    const std::int64_t columnsEnd = std::min(column + block.rightCount * widthOf(Side::right), square.size(1));
    float* numbers = square.data_ptr<float>();
    const std::int64_t stride = square.stride(0);
    for (std::int64_t j = column; j < columnsEnd; ++j)
        for (std::int64_t i = std::max(row, j + 1); i < rowsEnd; ++i)
            numbers[j * stride + i] = numbers[i * stride + j];
}

/// Computes a Gram matrix on all threads. @param to [rows, rows] float32
void wideGram(const at::Tensor& high, const at::Tensor& low, const at::Tensor& to) {
    const PackedRows packed(high, low);
    const Blocks blocks(packed.pairs().front().left, packed.pairs().front().right, true);
    forEachTask(blocks.count(), blocks.floats(), [&](std::int64_t index, float* products) {
        const Block& block = blocks.at(index);
        multiply(packed.pairs(), block, false, products);
        unpack(products, block, to);
        mirror(block, to);
    });
}

/// Computes a Gram matrix on one thread, in one block. Packs a few terms at a time, so that they stay in the L2 cache.
void narrowGram(const at::Tensor& high, const at::Tensor& low, const at::Tensor& to) {
    constexpr std::int64_t atOnce = 512;
    const std::int64_t size = high.size(0);
    const Block block{0, parts(size, widthOf(Side::left)), 0, parts(size, widthOf(Side::right)), true};
    const at::Tensor products = at::empty({block.leftCount * block.rightCount * productFloats}, at::kFloat);
    for (std::int64_t term = 0; term < high.size(1); term += atOnce) {
        const auto some = [&](const at::Tensor& rows) {
            return rows.defined() ? rows.narrow(1, term, std::min(atOnce, rows.size(1) - term)) : rows;
        };
        multiply(PackedRows(some(high), some(low)).pairs(), block, term > 0, products.data_ptr<float>());
    }
    unpack(products.data_ptr<float>(), block, to);
    mirror(block, to);
}

} // namespace

bool isHere() {
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
    static const bool here = [] {
        constexpr long askForUse = 0x1023; // ARCH_REQ_XCOMP_PERM
        constexpr long tileData = 18;
        return areBuilt && __builtin_cpu_supports("x86-64-v4") && __builtin_cpu_supports("amx-tile") &&
               __builtin_cpu_supports("amx-bf16") && ::syscall(SYS_arch_prctl, askForUse, tileData) == 0;
    }();
    return here;
#else
    return false;
#endif
}

bool suitsGrams(const at::Tensor& rows, std::int64_t blocks) {
    return isHere() && rows.scalar_type() == at::kBFloat16 && rows.stride(1) == 1 && rows.size(0) / blocks >= 64 &&
           rows.size(1) >= 128;
}

bool suitsNorm(const at::Tensor& a, const at::Tensor& b) {
    constexpr std::int64_t fewest = 128; // smallest number of rows and columns for which packing pays off
    return isHere() && a.scalar_type() == at::kBFloat16 && b.scalar_type() == at::kBFloat16 && hasUnitStride(a) &&
           hasUnitStride(b) && std::min({a.size(0), a.size(1), b.size(1)}) >= fewest;
}

at::Tensor grams(const at::Tensor& high, const at::Tensor& low, std::int64_t blocks) {
    const std::int64_t size = high.size(0) / blocks;
    const at::Tensor result = at::empty({blocks, size, size}, at::kFloat);
    const auto block = [&](const at::Tensor& rows, std::int64_t i) {
        return rows.defined() ? rows.narrow(0, i * size, size) : rows;
    };
    const auto gram = size > Blocks::widest ? wideGram : narrowGram;
    // Wide matrices are computed one after the other, each on all threads. Narrow matrices are computed in parallel.
    at::parallel_for(0, blocks, size > Blocks::widest ? blocks : 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
            gram(block(high, i), block(low, i), result[i]);
    });
    return result;
}

double squaredNorm(std::span<const std::pair<at::Tensor, at::Tensor>> pairs, const std::function<void()>& between) {
    std::vector<std::pair<at::Tensor, Packed>> known; // a tensor may occur in two pairs
    const auto factorOf = [&](const at::Tensor& rows, Side side) {
        const auto found = std::ranges::find_if(
            known, [&](const auto& entry) { return entry.first.is_same(rows) && entry.second.factor().side == side; });
        return found != known.end() ? found->second.factor()
                                    : known.emplace_back(rows, Packed(rows.t(), side)).second.factor();
    };
    std::vector<Pair> factors;
    for (const auto& [a, b] : pairs) {
        const Factor left = factorOf(a, Side::left);
        factors.push_back({left, factorOf(b, Side::right)});
    }
    const Blocks blocks(factors.front().left, factors.front().right, false);
    const at::Tensor squares = at::zeros({blocks.count()}, at::kDouble);
    const std::int64_t atOnce = 32 * std::int64_t{at::get_num_threads()};
    for (std::int64_t first = 0; first < blocks.count(); first += atOnce) {
        between();
        forEachTask(std::min(atOnce, blocks.count() - first), blocks.floats(),
                    [&](std::int64_t index, float* products) {
                        const Block& block = blocks.at(first + index);
                        multiply(factors, block, false, products);
                        squares.data_ptr<double>()[first + index] =
                            sumOfSquares(products, block.leftCount * block.rightCount * productFloats);
                    });
    }
    return squares.sum().item<double>();
}

} // namespace secateur::amx
