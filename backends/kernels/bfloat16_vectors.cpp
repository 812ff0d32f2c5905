#include "backends/kernels/bfloat16_vectors.h"

#include "backends/kernels/prefetcher.h"

#if defined(__AVX512BF16__) && defined(__AVX512BW__)

#include <immintrin.h>

namespace secateur::avx512 {

const bool multipliesRows = true;

namespace {

constexpr std::int64_t lanes = 16;
constexpr std::int64_t vectorBytes = 64;
constexpr std::int64_t stepPairs = 16; // a step is 16 pairs of terms
constexpr std::int64_t stepTerms = 2 * stepPairs;

/// A product of some rows and vectors of columns. Each vector of the right factor has 16 pairs: two terms of each
/// column.
struct TileProduct {
    const std::uint16_t* left = nullptr;
    std::int64_t leftStride = 0;
    const std::byte* right = nullptr;
    std::int64_t steps = 0;
    std::int64_t stepBytes = 0; ///< distance between the steps of the right factor
    float* result = nullptr;
    std::int64_t resultStride = 0;
    __mmask16 lastLanes = 0xffff; ///< columns of the last vector
    bool adds = false;
};

/// Where the vectors of the right factor are in a step.
struct Layout {
    std::int64_t pairBytes;   ///< distance between pairs of terms
    std::int64_t columnBytes; ///< distance between vectors of columns
};

__m512bh bfloat16At(const void* from) {
    return reinterpret_cast<__m512bh>(_mm512_loadu_si512(from));
}

/// A pair of terms of a row, in all lanes.
__m512bh everywhere(const std::uint16_t* pair) {
    int both;
    __builtin_memcpy(&both, pair, sizeof both);
    return reinterpret_cast<__m512bh>(_mm512_set1_epi32(both));
}

template <int rows, int vectors, Layout layout>
void multiplyTile(const TileProduct& p) {
    __m512 sums[rows][vectors];
#pragma GCC unroll 16
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v)
            sums[row][v] = _mm512_setzero_ps();
    const std::uint16_t* left = p.left;
    const std::byte* step = p.right;
    for (std::int64_t i = 0; i < p.steps; ++i, step += p.stepBytes) {
        const std::byte* right = step;
        for (std::int64_t pair = 0; pair < stepPairs; ++pair, left += 2, right += layout.pairBytes) {
            __m512bh columns[vectors];
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                columns[v] = bfloat16At(right + v * layout.columnBytes);
#pragma GCC unroll 16
            for (int row = 0; row < rows; ++row) {
                const __m512bh terms = everywhere(left + row * p.leftStride);
#pragma GCC unroll 4
                for (int v = 0; v < vectors; ++v)
                    sums[row][v] = _mm512_dpbf16_ps(sums[row][v], terms, columns[v]);
            }
        }
    }
#pragma GCC unroll 16
    for (int row = 0; row < rows; ++row)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            float* to = p.result + row * p.resultStride + v * lanes;
            const __mmask16 some = v == vectors - 1 ? p.lastLanes : __mmask16{0xffff};
            const __m512 before = p.adds ? _mm512_maskz_loadu_ps(some, to) : _mm512_setzero_ps();
            _mm512_mask_storeu_ps(to, some, _mm512_add_ps(before, sums[row][v]));
        }
}

constexpr Layout ofPieces{.pairBytes = vectorBytes, .columnBytes = stepPairs * vectorBytes};
constexpr Layout ofPanels{.pairBytes = PanelRows::panelTiles * vectorBytes, .columnBytes = vectorBytes};
constexpr std::int64_t panelStepBytes = stepPairs * ofPanels.pairBytes;

constexpr std::int64_t tileRows = 6; // 24 sums of four vectors, four vectors and a pair fill the registers

template <int vectors>
void multiplyRows(std::int64_t rows, const TileProduct& product) {
    switch (rows) {
    case 1:
        return multiplyTile<1, vectors, ofPanels>(product);
    case 2:
        return multiplyTile<2, vectors, ofPanels>(product);
    case 3:
        return multiplyTile<3, vectors, ofPanels>(product);
    case 4:
        return multiplyTile<4, vectors, ofPanels>(product);
    case 5:
        return multiplyTile<5, vectors, ofPanels>(product);
    default:
        return multiplyTile<6, vectors, ofPanels>(product);
    }
}

void multiplyRows(std::int64_t rows, std::int64_t vectors, const TileProduct& product) {
    switch (vectors) {
    case 1:
        return multiplyRows<1>(rows, product);
    case 2:
        return multiplyRows<2>(rows, product);
    case 3:
        return multiplyRows<3>(rows, product);
    default:
        return multiplyRows<4>(rows, product);
    }
}

/// Adjacent vectors of one panel.
struct PanelColumns {
    const std::byte* numbers;
    std::int64_t vectors;
    __mmask16 lastLanes;
    float* result;
    const std::byte* next; ///< panel that is read after these columns; null = none
};

/// Multiplies all rows, a few steps at a time, so that these steps of the panel stay in the L1 cache.
void multiplyColumns(const PanelRows& p, const PanelColumns& columns) {
    constexpr std::int64_t together = 9;
    const std::int64_t steps = p.steps + (p.rests ? 1 : 0);
    const std::int64_t tiles = (p.count + tileRows - 1) / tileRows;
    Prefetcher next(columns.next, columns.next ? p.panelBytes : 0, tiles * ((steps + together - 1) / together));
    TileProduct product{
        .stepBytes = panelStepBytes, .resultStride = p.resultStride, .lastLanes = columns.lastLanes, .adds = p.adds};
    const auto multiplyAll = [&](const std::uint16_t* left, std::int64_t stride, std::int64_t step,
                                 std::int64_t count) {
        product.leftStride = stride;
        product.right = columns.numbers + step * panelStepBytes;
        product.steps = count;
        for (std::int64_t row = 0, tile = 0; tile < tiles; ++tile) {
            const std::int64_t rows = (p.count - row + tiles - tile - 1) / (tiles - tile); // all tiles about equal
            product.left = left + row * stride;
            product.result = columns.result + row * p.resultStride;
            multiplyRows(rows, columns.vectors, product);
            next.fetch();
            row += rows;
        }
        product.adds = true;
    };
    for (std::int64_t step = 0; step < p.steps; step += together)
        multiplyAll(p.rows + step * stepTerms, p.rowStride, step,
                    p.steps - step < together ? p.steps - step : together);
    if (p.rests)
        multiplyAll(p.rests, stepTerms, p.steps, 1);
}

} // namespace

void multiply(const RowProduct& p) {
    constexpr int tileRows = 8;
    constexpr int vectors = RowProduct::width / lanes;
    TileProduct product{.leftStride = p.rowStride,
                        .steps = p.steps,
                        .stepBytes = p.stepBytes,
                        .resultStride = p.resultStride,
                        .adds = p.adds};
    for (std::int64_t strip = 0; strip < p.strips; ++strip)
        for (std::int64_t row = 0; row < RowProduct::height; row += tileRows) {
            product.left = p.rows + row * p.rowStride;
            product.right = p.pieces + strip * p.stripBytes;
            product.result = p.result + row * p.resultStride + strip * RowProduct::width;
            multiplyTile<tileRows, vectors, ofPieces>(product);
        }
}

void multiply(const PanelRows& product) {
    constexpr std::int64_t most = PanelRows::panelTiles;
    for (std::int64_t tile = 0; tile < product.tiles;) {
        const std::int64_t index = product.firstTile + tile;
        const std::int64_t inPanel = most - index % most;
        const std::int64_t count = inPanel < product.tiles - tile ? inPanel : product.tiles - tile;
        const std::byte* panel = product.panels + index / most * product.panelBytes;
        const bool isLast = tile + count == product.tiles;
        multiplyColumns(product, {panel + index % most * ofPanels.columnBytes, count,
                                  static_cast<__mmask16>(isLast ? (1 << product.lastColumns) - 1 : 0xffff),
                                  product.result + tile * lanes, isLast ? product.next : panel + product.panelBytes});
        tile += count;
    }
}

} // namespace secateur::avx512

#else

namespace secateur::avx512 {

const bool multipliesRows = false;

void multiply(const RowProduct&) {}
void multiply(const PanelRows&) {}

} // namespace secateur::avx512

#endif
