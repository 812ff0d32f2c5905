#pragma once

#include "backends/kernels/score_rows.h"

// Numbers of one query's attention, from the exponentials of its scores.

namespace secateur::SECATEUR_LEVEL {

namespace {

/// Whether a feature is a sum of probabilities.
SECATEUR_INLINE bool isSum(const AttentionFeature& feature) {
    return feature.kind == AttentionFeature::Kind::key || feature.kind == AttentionFeature::Kind::band;
}

/// Whose probabilities a feature of a query sums.
SECATEUR_INLINE Run keysOf(const AttentionFeature& feature, std::int64_t position, std::int64_t keyEnd) {
    if (feature.kind == AttentionFeature::Kind::band)
        return {greater(1, position + feature.first), position + feature.last + 1};
    const std::int64_t key = feature.first < 0 ? keyEnd + feature.first : feature.first;
    return {key, key + 1};
}

/// @param e number of the key at position 0
SECATEUR_INLINE float sumOver(const float* e, Run keys) {
    float sum = 0;
    for (std::int64_t key = keys.begin; key < keys.end; ++key)
        sum += e[key];
    return sum;
}

/// -sum f(a) over what is seen, for the two kinds of entropy that need a logarithm per key.
SECATEUR_INLINE float shiftedEntropy(const float* e, std::int64_t count, std::int64_t seen, float factor, float epsilon,
                                     bool shiftsBoth) {
    const float added = shiftsBoth ? epsilon : 0;
    Vec sum{};
    for (std::int64_t i = 0; i < count; i += lanes) {
        const Vec a = load(e + i) * factor;
        sum -= (a + added) * logarithm(a + epsilon);
    }
    // Of what is not seen a is 0.
    const float ofNone = -added * logarithm(all(epsilon))[0];
    return sumOf(sum) - static_cast<float>(count - seen) * ofNone;
}

} // namespace

} // namespace secateur::SECATEUR_LEVEL
