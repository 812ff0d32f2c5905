#pragma once

#include "backends/kernels/loop_table.h"

// Products of small matrices, computed tile by tile with sums in registers.

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

constexpr std::int64_t blockKeys = VectorLoops::blockKeys;
/// Distance between rows of scores. It is not a power of two, so that rows do not map to the same cache sets.
constexpr std::int64_t strideOf(std::int64_t scores) {
    return scores + lanes;
}

/// c = a b, or c += a b. The columns of b and c are contiguous. The terms of a b are summed before they are added to c:
/// so long sums, computed in blocks of `depth` terms, round less than one after the other.
struct Product {
    const float* a;
    std::int64_t aStride; ///< distance between rows of a
    std::int64_t aStep;   ///< distance between columns of a
    const float* b;
    std::int64_t bStride;
    std::int64_t depth;
    float* c;
    std::int64_t cStride;
    bool adds;
};

template <int rows, int vectors>
void multiplyTile(const Product& p) {
    Vec sums[rows][vectors]{};
    const float* a = p.a;
    const float* b = p.b;
    const std::int64_t aStride = p.aStride;
    const std::int64_t aStep = p.aStep;
    for (const float* end = a + p.depth * aStep; a != end; a += aStep, b += p.bStride) {
        Vec right[vectors];
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
            right[v] = load(b + v * lanes);
#pragma GCC unroll 8
        for (int row = 0; row < rows; ++row) {
            const Vec left = all(a[row * aStride]);
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v)
                sums[row][v] += left * right[v];
        }
    }
    if (p.adds)
#pragma GCC unroll 8
        for (int row = 0; row < rows; ++row)
#pragma GCC unroll 8
            for (int v = 0; v < vectors; ++v)
                sums[row][v] += load(p.c + row * p.cStride + v * lanes);
#pragma GCC unroll 8
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 8
        for (int v = 0; v < vectors; ++v)
            store(p.c + row * p.cStride + v * lanes, sums[row][v]);
}

using Multiply = void (*)(const Product&);

template <int rows>
Multiply multiplyRows(int vectors) {
    if constexpr (tileVectors == 4) {
        if (vectors == 4)
            return multiplyTile<rows, 4>;
        if (vectors == 3)
            return multiplyTile<rows, 3>;
    }
    return vectors == 2 ? multiplyTile<rows, 2> : multiplyTile<rows, 1>;
}

SECATEUR_INLINE void multiply(int rows, int vectors, const Product& product) {
    switch (rows) {
    case 1:
        return multiplyRows<1>(vectors)(product);
    case 2:
        return multiplyRows<2>(vectors)(product);
    case 3:
        return multiplyRows<3>(vectors)(product);
    case 4:
        return multiplyRows<4>(vectors)(product);
    case 5:
        return multiplyRows<5>(vectors)(product);
    default:
        return multiplyRows<6>(vectors)(product);
    }
}

/// Multiplies columns in several passes that have about the same number of vectors. @param columns a multiple of lanes
[[maybe_unused]] void multiplyColumns(int rows, Product product, std::int64_t columns) {
    int left = static_cast<int>(columns / lanes);
    for (int passes = (left + tileVectors - 1) / tileVectors; passes > 0; --passes) {
        const int vectors = (left + passes - 1) / passes;
        multiply(rows, vectors, product);
        left -= vectors;
        product.b += vectors * lanes;
        product.c += vectors * lanes;
    }
}

} // namespace

} // namespace secateur::SECATEUR_INSTRUCTION_SET
