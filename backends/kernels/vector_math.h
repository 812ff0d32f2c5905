#pragma once

#include <cstdint>
#include <utility>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

// Vectors of float32 as wide as the processor that a source is compiled for, and functions of them. Sources that
// include this are compiled once for each kind of processor, each time with another SECATEUR_LEVEL: all they define is
// unnamed or lies in that namespace, and they include nothing of the standard library that holds code.
#ifndef SECATEUR_LEVEL
#define SECATEUR_LEVEL generic
#endif
#define SECATEUR_INLINE [[gnu::always_inline]] inline

namespace secateur::SECATEUR_LEVEL {

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

/// The first `count` numbers, then zeros.
SECATEUR_INLINE Vec loadSome(const float* from, std::int64_t count) {
    if (count >= lanes)
        return load(from);
    Vec result{};
    for (int lane = 0; lane < count; ++lane)
        result[lane] = from[lane];
    return result;
}

SECATEUR_INLINE void storeSome(float* to, Vec value, std::int64_t count) {
    if (count >= lanes)
        return store(to, value);
    for (int lane = 0; lane < count; ++lane)
        to[lane] = value[lane];
}

/// bfloat16, to the nearest, ties to even. What is no number stays none.
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

/// The larger of each pair; `b` where `a` is no number.
SECATEUR_INLINE Vec larger(Vec a, Vec b) {
    return a > b ? a : b;
}

template <int step, int... lane>
SECATEUR_INLINE void exchangePair(Vec& a, Vec& b, std::integer_sequence<int, lane...>) {
    const Vec low = __builtin_shufflevector(a, b, ((lane & step) != 0 ? lanes + lane - step : lane)...);
    b = __builtin_shufflevector(a, b, ((lane & step) != 0 ? lanes + lane : lane + step)...);
    a = low;
}

/// Turns columns into rows, at one scale: blocks of step x step change places across the diagonal.
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

/// Lanes are added in halves, for the sum to be the same on every path through the code.
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

/// exp(x) for x up to 88.37, or no number, to 1e-7 relative; 0 below -87.3: nothing subnormal, which is slow.
SECATEUR_INLINE Vec exponentialBelow(Vec x) {
    constexpr float least = -87.336544F;
    constexpr float shift = 0x1.8p23F; // added, it leaves the nearest integer in the lowest bits
    const Vec shifted = x * 1.442695041F + shift;
    const Vec power = shifted - shift;
    const Vec rest = x - power * 0.693359375F - power * -2.12194440e-4F;
    Vec series = all(1.381451548e-3F);
    series = series * rest + 8.368756141e-3F;
    series = series * rest + 4.166839188e-2F;
    series = series * rest + 1.666652031e-1F;
    series = series * rest + 4.999999343e-1F;
    series = series * (rest * rest) + (rest + 1.0F);
#if defined(__AVX512F__)
    return _mm512_maskz_scalef_ps(_mm512_cmp_ps_mask(x, all(least), _CMP_NLT_UQ), series, power);
#else
    const Vec result = series * reinterpret_cast<Vec>((reinterpret_cast<Words>(shifted) + 127U) << 23);
    return x < least ? Vec{} : result;
#endif
}

/// The same; above 88.37 what it is there.
SECATEUR_INLINE Vec exponential(Vec x) {
    constexpr float most = 88.37F;
    return exponentialBelow(x > most ? all(most) : x);
}

/// To 3e-7 relative, around 0 too: a quotient of series, fitted up to where it is 1.
SECATEUR_INLINE Vec hyperbolicTangent(Vec x) {
    constexpr float most = 9;
    Vec within = x > most ? all(most) : x;
    within = within < -most ? all(-most) : within;
    const Vec square = within * within;
    Vec above = all(-1.224644965e-11F);
    above = above * square + 3.064281713e-8F;
    above = above * square + 2.803143535e-5F;
    above = above * square + 3.869514255e-3F;
    above = above * square + 1.368086146e-1F;
    above = above * square + 9.999999987e-1F;
    Vec below = all(1.289043665e-6F);
    below = below * square + 3.940724358e-4F;
    below = below * square + 2.725017960e-2F;
    below = below * square + 4.701419355e-1F;
    below = below * square + 1.0F;
    return above * within / below;
}

/// The normal distribution function, to a few 1e-7 relative: exp(-z^2) times a series in 1 / (1 + z / 3), fitted to
/// exp(z^2) erfc(z) / 2, where z = |x| / sqrt 2.
SECATEUR_INLINE Vec normalBelow(Vec x) {
    const Vec magnitude = x < 0.0F ? -x : x;
    const Vec t = 1.0F / (1.0F + magnitude * 0.2357022604F);
    Vec series = all(2.786791844e-2F);
    series = series * t - 1.461237418e-1F;
    series = series * t + 2.679814999e-1F;
    series = series * t - 2.207511325e-1F;
    series = series * t + 2.019000453e-1F;
    series = series * t - 1.047339899e-3F;
    series = series * t + 9.610755034e-2F;
    series = series * t + 8.570278031e-2F;
    series = series * t + 9.434465382e-2F;
    series = series * t + 9.401776514e-2F;
    const Vec tail = series * t * exponentialBelow(-0.5F * x * x);
    return x < 0.0F ? tail : 1.0F - tail;
}

} // namespace

} // namespace secateur::SECATEUR_LEVEL
