#include "backends/kernels/row_loops.h"

namespace secateur::SECATEUR_LEVEL {

namespace {

/// body(place, count) for each vector of a row; count is less than a vector at most in the last.
template <typename Body>
SECATEUR_INLINE void forEachVector(std::int64_t width, const Body& body) {
    std::int64_t i = 0;
    for (; i + lanes <= width; i += lanes)
        body(i, std::int64_t{lanes});
    if (i < width)
        body(i, width - i);
}

/// The sum of what term(place, count) gives; four at a time, as a sum waits for the one before.
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

/// Loops that compute much between their loads wait for memory unless they ask for it early.
SECATEUR_INLINE void fetchAhead(const float* from) {
    __builtin_prefetch(from + 512);
}

SECATEUR_INLINE Vec firstLanes(Vec value, std::int64_t count) {
    return laneNumbers() < static_cast<std::int32_t>(count) ? value : Vec{};
}

/// (x - mean) scale weight + bias
template <typename To>
SECATEUR_INLINE void writeNormed(const float* x, float mean, float scale, const NormValues& values, std::int64_t width,
                                 To* out) {
    if (values.kind == NormKind::rms && !values.bias) {
        forEachVector(width, [=, weight = values.weight](std::int64_t i, std::int64_t count) {
            storeSome(out + i, loadSome(x + i, count) * scale * loadSome(weight + i, count), count);
        });
        return;
    }
    forEachVector(width, [=, weight = values.weight, bias = values.bias](std::int64_t i, std::int64_t count) {
        const Vec normed = (loadSome(x + i, count) - mean) * scale * loadSome(weight + i, count);
        storeSome(out + i, bias ? normed + loadSome(bias + i, count) : normed, count);
    });
}

SECATEUR_INLINE float reciprocalRoot(float value) {
    return 1.0F / __builtin_sqrtf(value);
}

SECATEUR_INLINE Vec sigmoid(Vec x) {
    return 1.0F / (1.0F + exponential(-x));
}

struct Silu {
    SECATEUR_INLINE Vec operator()(Vec x) const { return x * sigmoid(x); }
};

struct GeluTanh {
    // (1 + tanh u) / 2 is the sigmoid of 2 u.
    SECATEUR_INLINE Vec operator()(Vec x) const { return x * sigmoid(x * (1.595769122F + 0.07135481627F * (x * x))); }
};

struct GeluErf {
    SECATEUR_INLINE Vec operator()(Vec x) const { return x * normalBelow(x); }
};

struct Relu {
    SECATEUR_INLINE Vec operator()(Vec x) const { return x < 0.0F ? Vec{} : x; }
};

template <typename Function, typename To>
SECATEUR_INLINE void writeActivated(const float* gate, const float* up, Function function, std::int64_t width,
                                    To* out) {
    if (gate)
        forEachVector(width, [=](std::int64_t i, std::int64_t count) {
            fetchAhead(gate + i);
            fetchAhead(up + i);
            storeSome(out + i, function(loadSome(gate + i, count)) * loadSome(up + i, count), count);
        });
    else
        forEachVector(width, [=](std::int64_t i, std::int64_t count) {
            fetchAhead(up + i);
            storeSome(out + i, function(loadSome(up + i, count)), count);
        });
}

template <typename To>
SECATEUR_INLINE void activateTo(const float* gate, const float* up, Activation activation, std::int64_t width,
                                To* out) {
    switch (activation) {
    case Activation::silu:
        return writeActivated(gate, up, Silu(), width, out);
    case Activation::geluTanh:
        return writeActivated(gate, up, GeluTanh(), width, out);
    case Activation::geluErf:
        return writeActivated(gate, up, GeluErf(), width, out);
    case Activation::relu:
        return writeActivated(gate, up, Relu(), width, out);
    }
}

SECATEUR_INLINE float largestLogit(const float* logits, std::int64_t count) {
    Vec best = all(-__builtin_inff());
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes)
        best = larger(load(logits + i), best);
    float largest = largestOf(best);
    for (; i < count; ++i)
        largest = logits[i] > largest ? logits[i] : largest;
    return largest;
}

SECATEUR_INLINE Vec capped(Vec logit, float softcap) {
    return softcap * hyperbolicTangent(logit * (1.0F / softcap));
}

} // namespace

void norm(const float* x, const float* added, float* sum, const NormValues& values, std::int64_t width,
          const Target& out) {
    if (added) {
        forEachVector(width, [=](std::int64_t i, std::int64_t count) {
            storeSome(sum + i, loadSome(x + i, count) + loadSome(added + i, count), count);
        });
        x = sum;
    }
    float mean = 0;
    const auto numbers = static_cast<float>(width);
    if (values.kind == NormKind::layer)
        mean =
            sumOfVectors(width, [=](std::int64_t i, std::int64_t count) { return loadSome(x + i, count); }) / numbers;
    const float squares = sumOfVectors(width, [=](std::int64_t i, std::int64_t count) {
        const Vec centred = firstLanes(loadSome(x + i, count) - mean, count);
        return centred * centred;
    });
    const float scale = reciprocalRoot(squares / numbers + static_cast<float>(values.epsilon));
    if (out.halves)
        writeNormed(x, mean, scale, values, width, out.halves);
    else
        writeNormed(x, mean, scale, values, width, out.floats);
}

void turn(const float* cosines, const float* sines, int dims, float* head) {
    float* other = head + dims / 2;
    forEachVector(dims / 2, [=](std::int64_t i, std::int64_t count) {
        const Vec low = loadSome(head + i, count);
        const Vec high = loadSome(other + i, count);
        const Vec cosine = loadSome(cosines + i, count);
        const Vec sine = loadSome(sines + i, count);
        storeSome(head + i, low * cosine - high * sine, count);
        storeSome(other + i, high * cosine + low * sine, count);
    });
}

void activate(const float* gate, const float* up, Activation activation, std::int64_t width, const Target& out) {
    if (out.halves)
        activateTo(gate, up, activation, width, out.halves);
    else
        activateTo(gate, up, activation, width, out.floats);
}

ExponentialSum sumExponentials(const float* logits, std::int64_t count, std::int64_t target, float softcap) {
    ExponentialSum result;
    result.largest = -__builtin_inff();
    result.targetCapped = softcap > 0 ? capped(all(logits[target]), softcap)[0] : logits[target];
    for (std::int64_t begin = 0; begin < count; begin += logitBlock) {
        const float* block = logits + begin;
        const std::int64_t size = count - begin < logitBlock ? count - begin : logitBlock;
        const float largest = largestLogit(block, size);
        if (largest > result.largest) {
            const float now = softcap > 0 ? capped(all(largest), softcap)[0] : largest;
            if (result.sum != 0)
                result.sum *= static_cast<double>(exponentialBelow(all(result.largestCapped - now))[0]);
            result.largest = largest;
            result.largestCapped = now;
            result.blockOfLargest = begin / logitBlock;
        }
        const float base = result.largestCapped;
        const auto term = [=](std::int64_t i, std::int64_t some) {
            __builtin_prefetch(block + i + logitBlock); // of which the largest is looked for next
            const Vec logit = loadSome(block + i, some);
            return firstLanes(exponentialBelow((softcap > 0 ? capped(logit, softcap) : logit) - base), some);
        };
        result.sum += static_cast<double>(sumOfVectors(size, term));
    }
    return result;
}

void write(const float* from, std::int64_t count, const Target& to) {
    forEachVector(count, [&](std::int64_t i, std::int64_t some) {
        if (to.halves)
            storeSome(to.halves + i, loadSome(from + i, some), some);
        else
            storeSome(to.floats + i, loadSome(from + i, some), some);
    });
}

} // namespace secateur::SECATEUR_LEVEL
