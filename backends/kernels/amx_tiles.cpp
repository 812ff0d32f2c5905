#include "backends/kernels/amx_tiles.h"

#if defined(__AMX_BF16__) && defined(__AVX512BW__) && defined(__linux__)

#include <immintrin.h>

namespace secateur::amx {

const bool areBuilt = true;

namespace {

constexpr int rowBytes = 64; // of a tile: 16 numbers of float32, 16 pairs of bfloat16
constexpr std::int64_t tileBytes = tileWidth * rowBytes;

/// As the processor reads it: all eight tiles whole.
struct alignas(64) Configuration {
    std::uint8_t palette = 1;
    std::uint8_t firstRow = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t bytes[16] = {rowBytes, rowBytes, rowBytes, rowBytes, rowBytes, rowBytes, rowBytes, rowBytes};
    std::uint8_t rows[16] = {tileWidth, tileWidth, tileWidth, tileWidth, tileWidth, tileWidth, tileWidth, tileWidth};
};

__mmask32 firstOf(std::int64_t count) {
    return count >= 32 ? ~__mmask32{0} : (__mmask32{1} << count) - 1;
}

/// 16 rows of 16 pairs. Row i: the pairs of terms of row (column) i of the source.
void readAdjacent(const Source& source, std::int64_t first, __m512i* rows) {
    const __mmask32 terms = firstOf(source.depth);
    for (std::int64_t i = 0; i < tileWidth; ++i)
        rows[i] = first + i < source.width
                      ? _mm512_maskz_loadu_epi16(terms, source.numbers + (first + i) * source.stride)
                      : _mm512_setzero_si512();
}

/// 16 rows of 16 pairs. Row i: the terms 2 i and 2 i + 1 of each row (column) of the source.
void readApart(const Source& source, std::int64_t first, __m512i* rows) {
    const auto some = static_cast<__mmask16>(source.width > first ? firstOf(source.width - first) : 0);
    const auto term = [&](std::int64_t index) {
        return index < source.depth && some != 0 ? _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(
                                                       some, source.numbers + index * source.stride + first))
                                                 : _mm512_setzero_si512();
    };
    for (std::int64_t i = 0; i < tileWidth; ++i)
        rows[i] = _mm512_or_si512(term(2 * i), _mm512_slli_epi32(term(2 * i + 1), 16));
}

/// Turns 16 rows of 16 pairs over.
void transpose(__m512i* rows) {
    __m512i half[16];
    for (int i = 0; i < 16; i += 2) {
        half[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
        half[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        rows[i] = _mm512_unpacklo_epi64(half[i], half[i + 2]);
        rows[i + 1] = _mm512_unpackhi_epi64(half[i], half[i + 2]);
        rows[i + 2] = _mm512_unpacklo_epi64(half[i + 1], half[i + 3]);
        rows[i + 3] = _mm512_unpackhi_epi64(half[i + 1], half[i + 3]);
    }
    for (int i = 0; i < 4; ++i) {
        half[i] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0x88);
        half[i + 4] = _mm512_shuffle_i32x4(rows[i], rows[i + 4], 0xdd);
        half[i + 8] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0x88);
        half[i + 12] = _mm512_shuffle_i32x4(rows[i + 8], rows[i + 12], 0xdd);
    }
    for (int i = 0; i < 8; ++i) {
        rows[i] = _mm512_shuffle_i32x4(half[i], half[i + 8], 0x88);
        rows[i + 8] = _mm512_shuffle_i32x4(half[i], half[i + 8], 0xdd);
    }
}

/// Adds `steps` steps of two panels to the four tiles at `product`, or begins with them.
void multiplyPanels(const std::byte* left, const std::byte* right, std::int64_t steps, bool adds, float* product) {
    if (adds) {
        _tile_loadd(0, product, rowBytes);
        _tile_loadd(1, product + tileFloats, rowBytes);
        _tile_loadd(2, product + 2 * tileFloats, rowBytes);
        _tile_loadd(3, product + 3 * tileFloats, rowBytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (std::int64_t step = 0; step < steps; ++step, left += pieceBytes, right += pieceBytes) {
        _tile_loadd(4, left, rowBytes);
        _tile_loadd(6, right, rowBytes);
        _tile_loadd(7, right + tileBytes, rowBytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, left + tileBytes, rowBytes);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        // The left side comes from the second cache: it is asked for two steps ahead.
        for (std::int64_t line = 0; line < pieceBytes; line += rowBytes)
            _mm_prefetch(left + 2 * pieceBytes + line, _MM_HINT_T0);
    }
    _tile_stored(0, product, rowBytes);
    _tile_stored(1, product + tileFloats, rowBytes);
    _tile_stored(2, product + 2 * tileFloats, rowBytes);
    _tile_stored(3, product + 3 * tileFloats, rowBytes);
}

} // namespace

void pack(const Source& source, Side side, std::byte* piece) {
    __m512i rows[tileWidth];
    for (std::int64_t tile = 0; tile < 2; ++tile) {
        if (source.termsAdjacent)
            readAdjacent(source, tile * tileWidth, rows);
        else
            readApart(source, tile * tileWidth, rows);
        if (source.termsAdjacent != (side == Side::left))
            transpose(rows);
        for (std::int64_t i = 0; i < tileWidth; ++i)
            _mm512_storeu_si512(piece + tile * tileBytes + i * rowBytes, rows[i]);
    }
}

void multiply(std::span<const Pair> pairs, const Block& block, float* products) {
    const Configuration configuration;
    _tile_loadconfig(&configuration);
    bool adds = false;
    for (const Pair& pair : pairs) {
        for (std::int64_t step = 0; step < pair.left.steps; step += stepsTogether) {
            const std::int64_t left = pair.left.steps - step;
            const std::int64_t steps = left < stepsTogether ? left : stepsTogether;
            float* product = products;
            for (std::int64_t column = 0; column < block.rightCount; ++column)
                for (std::int64_t row = 0; row < block.leftCount; ++row, product += productFloats)
                    multiplyPanels(pair.left.piece(block.left + row, step),
                                   pair.right.piece(block.right + column, step), steps, adds, product);
            adds = true;
        }
    }
    _tile_release();
}

} // namespace secateur::amx

#else

namespace secateur::amx {

const bool areBuilt = false;

void pack(const Source&, Side, std::byte*) {}
void multiply(std::span<const Pair>, const Block&, float*) {}

} // namespace secateur::amx

#endif
