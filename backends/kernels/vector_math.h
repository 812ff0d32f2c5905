#pragma once

#include "backends/kernels/vectors.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

/// exp(x) for x up to 88.37 or NaN, with a relative error of 1e-7. It is 0 for x below -87.3, because subnormal results
/// are slow.
SECATEUR_INLINE Vec exponentialBelow(Vec x) {
    constexpr float least = -87.336544F;
    constexpr float shift = 0x1.8p23F; // adding this number moves the nearest integer into the lowest bits
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

/// exp(x). For x above 88.37 it is exp(88.37).
SECATEUR_INLINE Vec exponential(Vec x) {
    constexpr float most = 88.37F;
    return exponentialBelow(x > most ? all(most) : x);
}

/// tanh(x) with a relative error of less than 4e-7, also near 0. It is a fitted quotient of polynomials; x is limited
/// to [-9, 9].
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

/// The distribution function of the normal distribution. Its relative error is less than 1e-6 for x above -5, and up to
/// 4e-6 below. For negative x, with z = |x| / sqrt 2, it is exp(-z^2) times a polynomial in 1 / (1 + z / 3). The
/// polynomial was fitted to exp(z^2) erfc(z) / 2.
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

/// ln x for positive x that are not subnormal, with a relative error of 1e-7.
SECATEUR_INLINE Vec logarithm(Vec x) {
    const Words bits = reinterpret_cast<Words>(x);
    Vec power = __builtin_convertvector(reinterpret_cast<Ints>(bits >> 23) - 127, Vec);
    Vec rest = reinterpret_cast<Vec>((bits & 0x7fffffU) | 0x3f800000U); // in the range from 1 to 2
    const Ints isLarge = rest > 1.41421356F;
    rest = isLarge ? rest * 0.5F : rest;
    power = isLarge ? power + 1.0F : power;
    rest -= 1.0F;
    const Vec square = rest * rest;
    Vec series = all(7.0376836292e-2F);
    series = series * rest - 1.1514610310e-1F;
    series = series * rest + 1.1676998740e-1F;
    series = series * rest - 1.2420140846e-1F;
    series = series * rest + 1.4249322787e-1F;
    series = series * rest - 1.6668057665e-1F;
    series = series * rest + 2.0000714765e-1F;
    series = series * rest - 2.4999993993e-1F;
    series = series * rest + 3.3333331174e-1F;
    series = series * rest * square - 2.12194440e-4F * power - 0.5F * square;
    return rest + series + power * 0.693359375F;
}

} // namespace

} // namespace secateur::SECATEUR_INSTRUCTION_SET
