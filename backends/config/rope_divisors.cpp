#include "backends/config/rope_divisors.h"

#include "analysis/base/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace secateur {

namespace {

double unscaledFrequency(const RotarySpec& rotary, int pair) {
    return std::pow(rotary.theta, -2.0 * pair / rotary.dims);
}

bool reproduces(const RotarySpec& rotary, std::span<const float> divisors) {
    constexpr double tolerance = 1e-4; // divisors are stored as float32
    for (int pair = 0; pair < static_cast<int>(divisors.size()); ++pair) {
        const double divisor = unscaledFrequency(rotary, pair) / inverseFrequency(rotary, pair);
        if (!(std::abs(divisors[static_cast<std::size_t>(pair)] / divisor - 1) < tolerance))
            return false;
    }
    return true;
}

/// Fits the original context and the high frequency factor of llama3 scaling to the divisors. Between the low and the
/// high frequency factor, 1 / divisor is a linear function of original context / wavelength. Two rotary pairs in this
/// range therefore determine its bounds. Only the ratios of context, low factor and high factor matter. The low factor
/// is set to 1, as in all released models.
RotarySpec fitted(RotarySpec rotary, std::span<const float> divisors) {
    std::vector<std::pair<double, double>> between; // 1 / wavelength, weight of the unscaled frequency
    for (int pair = 0; pair < static_cast<int>(divisors.size()); ++pair) {
        const double divisor = divisors[static_cast<std::size_t>(pair)];
        const double share = (1 / divisor - 1 / rotary.factor) / (1 - 1 / rotary.factor);
        if (share > 1e-4 && share < 1 - 1e-4)
            between.emplace_back(unscaledFrequency(rotary, pair) / (2 * std::numbers::pi), share);
    }
    if (between.size() < 2)
        return rotary;
    const auto [x0, y0] = between.front();
    const auto [x1, y1] = between.back();
    const double slope = (y0 - y1) / (x0 - x1); // context / (high - low)
    const double span = 1 / (slope * x0 - y0);  // high - low, as low = 1
    const double context = slope * span;
    if (!(span > 0 && context > 0 && context < 1e9))
        return rotary;
    rotary.highFrequencyFactor = std::round((1 + span) * 1000) / 1000;
    rotary.originalContext = static_cast<int>(std::lround(context));
    return rotary;
}

} // namespace

double inverseFrequency(const RotarySpec& rotary, int pair) {
    const double plain = unscaledFrequency(rotary, pair);
    if (rotary.scaling == RopeScaling::none)
        return plain;
    if (rotary.scaling == RopeScaling::linear)
        return plain / rotary.factor;
    if (rotary.scaling == RopeScaling::listed)
        return plain / rotary.divisors[static_cast<std::size_t>(pair)];
    const double rotations = rotary.originalContext * plain / (2 * std::numbers::pi);
    const double share =
        (rotations - rotary.lowFrequencyFactor) / (rotary.highFrequencyFactor - rotary.lowFrequencyFactor);
    const double kept = std::clamp(share, 0.0, 1.0);
    return (1 - kept) * plain / rotary.factor + kept * plain;
}

RotarySpec scalingFromDivisors(RotarySpec unscaled, std::span<const float> divisors, int statedContext,
                               const std::string& subject) {
    if (!std::ranges::all_of(divisors, [](float divisor) { return divisor > 0 && std::isfinite(divisor); }))
        throw Error("holds rotary divisors that are not positive numbers", subject);
    if (reproduces(unscaled, divisors))
        return unscaled;
    RotarySpec llama3 = unscaled;
    llama3.scaling = RopeScaling::llama3;
    llama3.factor = std::round(std::ranges::max(divisors) * 1e4) / 1e4; // removes the rounding error of float32
    llama3.lowFrequencyFactor = 1;
    llama3.highFrequencyFactor = 4;
    llama3.originalContext = statedContext > 0 ? statedContext : 8192; // 8192 in the released Llama 3.1 and 3.2
    if (reproduces(llama3, divisors))
        return llama3;
    llama3 = fitted(llama3, divisors);
    if (reproduces(llama3, divisors))
        return llama3;
    RotarySpec listed = unscaled;
    listed.scaling = RopeScaling::listed;
    listed.divisors.assign(divisors.begin(), divisors.end());
    return listed;
}

} // namespace secateur
