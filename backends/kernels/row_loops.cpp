#include "backends/kernels/loop_table.h"

#include "backends/kernels/vector_rows.h"

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

/// out = (x - mean) * scale * weight + bias
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

template <typename Function, typename To>
SECATEUR_INLINE void writeActivated(const float* gate, const float* up, Function function, std::int64_t width,
                                    To* out) {
    if (gate)
        forEachVector(width, [=](std::int64_t i, std::int64_t count) {
            fetchAhead(gate + i);
            fetchAhead(up + i);
            storeSome(out + i, function(loadSome(gate + i, count)).value * loadSome(up + i, count), count);
        });
    else
        forEachVector(width, [=](std::int64_t i, std::int64_t count) {
            fetchAhead(up + i);
            storeSome(out + i, function(loadSome(up + i, count)).value, count);
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
          const Destination& out) {
    if (added) {
        forEachVector(width, [=](std::int64_t i, std::int64_t count) {
            storeSome(sum + i, loadSome(x + i, count) + loadSome(added + i, count), count);
        });
        x = sum;
    }
    const auto [mean, scale] = normStatistics(x, values, width);
    if (out.halves)
        writeNormed(x, mean, scale, values, width, out.halves);
    else
        writeNormed(x, mean, scale, values, width, out.floats);
}

void rotate(const float* cosines, const float* sines, int dims, float* head) {
    rotateBy<false>(cosines, sines, dims, head);
}

void activate(const float* gate, const float* up, Activation activation, std::int64_t width, const Destination& out) {
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
            __builtin_prefetch(block + i + logitBlock); // the next block, in which the largest logit is searched next
            const Vec logit = loadSome(block + i, some);
            return firstLanes(exponentialBelow((softcap > 0 ? capped(logit, softcap) : logit) - base), some);
        };
        result.sum += static_cast<double>(sumOfVectors(size, term));
    }
    return result;
}

void write(const float* from, std::int64_t count, const Destination& to) {
    forEachVector(count, [&](std::int64_t i, std::int64_t some) {
        if (to.halves)
            storeSome(to.halves + i, loadSome(from + i, some), some);
        else
            storeSome(to.floats + i, loadSome(from + i, some), some);
    });
}

void widen(const Source& from, std::int64_t count, float* to) {
    forEachVector(count, [&](std::int64_t i, std::int64_t some) {
        storeSome(to + i, from.halves ? loadSome(from.halves + i, some) : loadSome(from.floats + i, some), some);
    });
}

} // namespace secateur::SECATEUR_INSTRUCTION_SET
