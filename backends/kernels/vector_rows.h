#pragma once

#include "backends/kernels/vector_loops.h"
#include "backends/kernels/vector_math.h"

// Functions for loops over rows of numbers.

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

/// Calls body(place, count) for each vector of a row. Only the last vector may have fewer than `lanes` elements.
template <typename Body>
SECATEUR_INLINE void forEachVector(std::int64_t width, const Body& body) {
    std::int64_t i = 0;
    for (; i + lanes <= width; i += lanes)
        body(i, std::int64_t{lanes});
    if (i < width)
        body(i, width - i);
}

/// The sum of term(place, count) over the vectors of a row. It uses four independent partial sums, because each
/// addition to a sum waits for the previous one.
template <typename Term>
SECATEUR_INLINE float sumOfVectors(std::int64_t width, const Term& term) {
    Vec sums[4]{};
    std::int64_t i = 0;
    for (; i + 4 * lanes <= width; i += 4 * lanes)
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k)
            sums[k] += term(i + k * lanes, std::int64_t{lanes});
    for (; i + lanes <= width; i += lanes)
        sums[0] += term(i, std::int64_t{lanes});
    if (i < width)
        sums[1] += term(i, width - i);
    return sumOf((sums[0] + sums[1]) + (sums[2] + sums[3]));
}

/// Prefetches memory, for loops that compute much between loads and would otherwise wait for memory.
SECATEUR_INLINE void fetchAhead(const float* from) {
    __builtin_prefetch(from + 512);
}

SECATEUR_INLINE Vec firstLanes(Vec value, std::int64_t count) {
    return laneNumbers() < static_cast<std::int32_t>(count) ? value : Vec{};
}

/// The two numbers with which a norm maps a row: it subtracts `mean` and multiplies by `scale`.
struct NormStatistics {
    float mean;
    float scale;
};

SECATEUR_INLINE NormStatistics normStatistics(const float* x, const NormValues& values, std::int64_t width) {
    float mean = 0;
    const auto numbers = static_cast<float>(width);
    if (values.kind == NormKind::layer)
        mean =
            sumOfVectors(width, [=](std::int64_t i, std::int64_t count) { return loadSome(x + i, count); }) / numbers;
    const float squares = sumOfVectors(width, [=](std::int64_t i, std::int64_t count) {
        const Vec centred = firstLanes(loadSome(x + i, count) - mean, count);
        return centred * centred;
    });
    return {mean, 1.0F / __builtin_sqrtf(squares / numbers + static_cast<float>(values.epsilon))};
}

/// Rotates a head by its angles, or by the negative angles if `inverse`.
template <bool inverse>
SECATEUR_INLINE void rotateBy(const float* cosines, const float* sines, int dims, float* head) {
    float* other = head + dims / 2;
    forEachVector(dims / 2, [=](std::int64_t i, std::int64_t count) {
        const Vec low = loadSome(head + i, count);
        const Vec high = loadSome(other + i, count);
        const Vec cosine = loadSome(cosines + i, count);
        const Vec sine = inverse ? -loadSome(sines + i, count) : loadSome(sines + i, count);
        storeSome(head + i, low * cosine - high * sine, count);
        storeSome(other + i, high * cosine + low * sine, count);
    });
}

SECATEUR_INLINE Vec sigmoid(Vec x) {
    return 1.0F / (1.0F + exponential(-x));
}

/// The value and the derivative of an activation function. If only one of them is used, inlining removes the
/// computation of the other.
struct ValueAndDerivative {
    Vec value;
    Vec derivative;
};

struct Silu {
    SECATEUR_INLINE ValueAndDerivative operator()(Vec x) const {
        const Vec share = sigmoid(x);
        const Vec bend = x * share * (1.0F - share);
        return {x * share, share + (x < -100.0F ? Vec{} : bend)}; // bend tends to 0 there, but exponential() is limited
    }
};

struct GeluTanh {
    // (1 + tanh u) / 2 is the sigmoid of 2 u.
    SECATEUR_INLINE ValueAndDerivative operator()(Vec x) const {
        const Vec square = x * x;
        const Vec share = sigmoid(x * (1.595769122F + 0.07135481627F * square));
        const Vec bend = x * share * (1.0F - share) * (1.595769122F + 3 * 0.07135481627F * square);
        return {x * share, share + (square > 400.0F ? Vec{} : bend)}; // bend tends to 0, but products would overflow
    }
};

struct GeluErf {
    SECATEUR_INLINE ValueAndDerivative operator()(Vec x) const {
        const Vec share = normalBelow(x);
        return {x * share, share + x * (0.3989422804F * exponentialBelow(-0.5F * x * x))};
    }
};

struct Relu {
    SECATEUR_INLINE ValueAndDerivative operator()(Vec x) const {
        return {x < 0.0F ? Vec{} : x, x > 0.0F ? all(1) : Vec{}};
    }
};

} // namespace

} // namespace secateur::SECATEUR_INSTRUCTION_SET
