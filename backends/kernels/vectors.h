#pragma once

#include <cstdint>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

// Vectors of float32 of the widest size that the instruction set supports. Sources that include this header are
// compiled once for each instruction set, each time with another SECATEUR_INSTRUCTION_SET. All their definitions are in
// a namespace of this name, or in unnamed namespaces. They must not include standard headers with inline functions: the
// linker keeps only one copy of such a function, which may contain instructions that not every processor has.
#ifndef SECATEUR_INSTRUCTION_SET
#define SECATEUR_INSTRUCTION_SET generic
#endif
#define SECATEUR_INLINE [[gnu::always_inline]] inline

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX2__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

using Vec [[gnu::vector_size(lanes * 4)]] = float;
using Ints [[gnu::vector_size(lanes * 4)]] = std::int32_t;
using Words [[gnu::vector_size(lanes * 4)]] = std::uint32_t;
using Halves [[gnu::vector_size(lanes * 2)]] = std::uint16_t;

SECATEUR_INLINE Vec all(float value) {
    return value - Vec{};
}

SECATEUR_INLINE Ints laneNumbers() {
    Ints numbers{};
    for (int lane = 0; lane < lanes; ++lane)
        numbers[lane] = lane;
    return numbers;
}

SECATEUR_INLINE Vec load(const float* from) {
    Vec result;
    __builtin_memcpy(&result, from, sizeof result);
    return result;
}

SECATEUR_INLINE void store(float* to, Vec value) {
    __builtin_memcpy(to, &value, sizeof value);
}

/// Loads the first `count` numbers. The other lanes are 0.
SECATEUR_INLINE Vec loadSome(const float* from, std::int64_t count) {
    if (count >= lanes)
        return load(from);
    Vec result{};
    for (int lane = 0; lane < count; ++lane)
        result[lane] = from[lane];
    return result;
}

#if defined(__AVX512F__)
constexpr __mmask16 everyLane = 0xffff; // with a mask, GCC 12 does not warn about its own headers
#endif

template <typename Number>
SECATEUR_INLINE Number read(const void* from) {
    Number number;
    __builtin_memcpy(&number, from, sizeof number);
    return number;
}

/// Numbers of 16 bits, widened to 32 bits. GCC 12 widens vectors element by element, unless intrinsics are used.
SECATEUR_INLINE Words wordsAt(const void* from) {
#if defined(__AVX512F__)
    return reinterpret_cast<Words>(_mm512_maskz_cvtepu16_epi32(everyLane, read<__m256i_u>(from)));
#elif defined(__AVX2__)
    return reinterpret_cast<Words>(_mm256_cvtepu16_epi32(read<__m128i_u>(from)));
#else
    return __builtin_convertvector(read<Halves>(from), Words);
#endif
}

/// Loads the first `count` numbers of bfloat16. The other lanes are 0.
SECATEUR_INLINE Vec loadSome(const std::uint16_t* from, std::int64_t count) {
    if (count >= lanes)
        return reinterpret_cast<Vec>(wordsAt(from) << 16);
    Halves halves{};
    for (int lane = 0; lane < count; ++lane)
        halves[lane] = from[lane];
    return reinterpret_cast<Vec>(wordsAt(&halves) << 16);
}

SECATEUR_INLINE void storeSome(float* to, Vec value, std::int64_t count) {
    if (count >= lanes)
        return store(to, value);
    for (int lane = 0; lane < count; ++lane)
        to[lane] = value[lane];
}

/// Rounds to the nearest bfloat16, ties to even. NaN stays NaN.
SECATEUR_INLINE Halves rounded(Vec value) {
    const Words bits = reinterpret_cast<Words>(value);
    const Words nearest = bits + 0x7fffU + ((bits >> 16) & 1U);
    return __builtin_convertvector((value != value ? bits | 0x400000U : nearest) >> 16, Halves);
}

SECATEUR_INLINE void storeSome(std::uint16_t* to, Vec value, std::int64_t count) {
    const Halves halves = rounded(value);
    if (count >= lanes) {
        __builtin_memcpy(to, &halves, sizeof halves);
        return;
    }
    for (int lane = 0; lane < count; ++lane)
        to[lane] = halves[lane];
}

/// The larger number of each pair; b if a is NaN.
SECATEUR_INLINE Vec larger(Vec a, Vec b) {
    return a > b ? a : b;
}

template <int step, int... lane>
SECATEUR_INLINE void exchangePair(Vec& a, Vec& b, std::integer_sequence<int, lane...>) {
    const Vec low = __builtin_shufflevector(a, b, ((lane & step) != 0 ? lanes + lane - step : lane)...);
    b = __builtin_shufflevector(a, b, ((lane & step) != 0 ? lanes + lane : lane + step)...);
    a = low;
}

/// One step of a transposition. It exchanges blocks of step x step elements across the diagonal.
template <int step>
SECATEUR_INLINE void exchange(Vec (&rows)[lanes]) {
#pragma GCC unroll 16
    for (int row = 0; row < lanes; ++row) {
        if ((row & step) == 0)
            exchangePair<step>(rows[row], rows[row + step], std::make_integer_sequence<int, lanes>());
    }
}

SECATEUR_INLINE void transpose(Vec (&rows)[lanes]) {
    exchange<1>(rows);
    exchange<2>(rows);
    if constexpr (lanes > 4)
        exchange<4>(rows);
    if constexpr (lanes > 8)
        exchange<8>(rows);
}

/// The sum of all lanes. The order of the additions is always the same.
SECATEUR_INLINE float sumOf(Vec v) {
#if defined(__AVX512F__)
    v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
#elif defined(__AVX2__)
    v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
#endif
    return (v[0] + v[2]) + (v[1] + v[3]);
}

SECATEUR_INLINE float largestOf(Vec v) {
#if defined(__AVX512F__)
    v = larger(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
    v = larger(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
#elif defined(__AVX2__)
    v = larger(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
#endif
    const float even = v[0] > v[2] ? v[0] : v[2];
    const float odd = v[1] > v[3] ? v[1] : v[3];
    return even > odd ? even : odd;
}

} // namespace

} // namespace secateur::SECATEUR_INSTRUCTION_SET
