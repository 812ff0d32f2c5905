#include "backends/kernels/loop_table.h"
#include "backends/kernels/vector_rows.h"

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

template <typename Function>
SECATEUR_INLINE void activateBackwardBy(Function function, const float* gate, const float* up, const float* gradient,
                                        std::int64_t width, float* dGate, float* dUp) {
    if (gate)
        forEachVector(width, [=](std::int64_t i, std::int64_t count) {
            const auto [value, derivative] = function(loadSome(gate + i, count));
            const Vec own = loadSome(gradient + i, count);
            storeSome(dGate + i, derivative * own * loadSome(up + i, count), count);
            storeSome(dUp + i, value * own, count);
        });
    else
        forEachVector(width, [=](std::int64_t i, std::int64_t count) {
            storeSome(dUp + i, function(loadSome(up + i, count)).derivative * loadSome(gradient + i, count), count);
        });
}

} // namespace

// The gradient of y = w z + b with z = (x - m) r. m is the mean of x (0 for RMSNorm), and 1 / r = sqrt(mean((x - m)^2)
// + epsilon). With v = w dy, dx = r (v - mean(v) - z mean(v z)). For RMSNorm, mean(v) is left out.
void normBackward(const float* x, const float* gradient, const NormValues& norm, std::int64_t width, float* result) {
    const NormStatistics statistics = normStatistics(x, norm, width);
    const auto numbers = static_cast<float>(width);
    const auto v = [gradient, weight = norm.weight](std::int64_t i, std::int64_t count) {
        return loadSome(gradient + i, count) * loadSome(weight + i, count);
    };
    const auto z = [=](std::int64_t i, std::int64_t count) {
        return (loadSome(x + i, count) - statistics.mean) * statistics.scale;
    };
    const float along =
        sumOfVectors(width, [=](std::int64_t i, std::int64_t count) { return v(i, count) * z(i, count); }) / numbers;
    const float mean = norm.kind == NormKind::layer ? sumOfVectors(width, v) / numbers : 0;
    forEachVector(width, [=](std::int64_t i, std::int64_t count) {
        storeSome(result + i, (v(i, count) - mean - z(i, count) * along) * statistics.scale, count);
    });
}

void activateBackward(const float* gate, const float* up, const float* gradient, Activation activation,
                      std::int64_t width, float* dGate, float* dUp) {
    switch (activation) {
    case Activation::silu:
        return activateBackwardBy(Silu(), gate, up, gradient, width, dGate, dUp);
    case Activation::geluTanh:
        return activateBackwardBy(GeluTanh(), gate, up, gradient, width, dGate, dUp);
    case Activation::geluErf:
        return activateBackwardBy(GeluErf(), gate, up, gradient, width, dGate, dUp);
    case Activation::relu:
        return activateBackwardBy(Relu(), gate, up, gradient, width, dGate, dUp);
    }
}

} // namespace secateur::SECATEUR_INSTRUCTION_SET
