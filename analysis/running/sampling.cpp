#include "analysis/running/sampling.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace secateur {

namespace {

int likeliest(std::span<const float> logits) {
    return static_cast<int>(std::ranges::max_element(logits) - logits.begin());
}

/// exp((logit - highest) / temperature): probabilities but for a common factor.
std::vector<double> weightsOf(std::span<const float> logits, double temperature) {
    const double highest = std::ranges::max(logits);
    std::vector<double> weights(logits.size());
    std::ranges::transform(logits, weights.begin(),
                           [&](float logit) { return std::exp((logit - highest) / temperature); });
    return weights;
}

/// The likeliest first, until what was taken sums to topP; of equals the lower id first.
std::vector<int> nucleus(const std::vector<double>& weights, double topP) {
    std::vector<int> rest(weights.size());
    std::iota(rest.begin(), rest.end(), 0);
    const auto comesLater = [&](int a, int b) {
        const double first = weights[static_cast<std::size_t>(a)];
        const double second = weights[static_cast<std::size_t>(b)];
        return first != second ? first < second : a > b;
    };
    // A heap, because the few tokens that are taken seldom pay for sorting a vocabulary.
    std::ranges::make_heap(rest, comesLater);
    const double wanted = topP * std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<int> taken;
    for (double sum = 0; !rest.empty() && (taken.empty() || sum < wanted);) {
        std::ranges::pop_heap(rest, comesLater);
        taken.push_back(rest.back());
        rest.pop_back();
        sum += weights[static_cast<std::size_t>(taken.back())];
    }
    return taken;
}

/// In [0, 1), from the upper 53 bits: the standard leaves open how its own distributions use a generator.
double uniform(std::mt19937_64& random) {
    return std::ldexp(static_cast<double>(random() >> 11U), -53);
}

} // namespace

void checkSampling(const Sampling& sampling) {
    if (!std::isfinite(sampling.temperature) || sampling.temperature < 0)
        throw UsageError(fmt::format("is {}, but a temperature is 0 or more", sampling.temperature), "temperature");
    if (!(sampling.topP > 0 && sampling.topP <= 1))
        throw UsageError(fmt::format("is {}, but it is a probability: more than 0, and 1 at most", sampling.topP),
                         "top-p");
}

Sampler::Sampler(const Sampling& sampling)
    : m_sampling(sampling)
    , m_random(sampling.seed) {
    checkSampling(sampling);
}

int Sampler::next(std::span<const float> logits) {
    const auto isNan = [](float logit) { return std::isnan(logit); };
    if (logits.empty() || std::ranges::any_of(logits, isNan) || !std::isfinite(std::ranges::max(logits)))
        throw Error("The model gives logits that are not finite: no token can be chosen", {},
                    "Its weights, or the mask, leave nothing to go by");
    return m_sampling.temperature > 0 ? draw(logits) : likeliest(logits);
}

int Sampler::draw(std::span<const float> logits) {
    const std::vector<double> weights = weightsOf(logits, m_sampling.temperature);
    std::vector<int> tokens(weights.size());
    if (m_sampling.topP < 1)
        tokens = nucleus(weights, m_sampling.topP);
    else
        std::iota(tokens.begin(), tokens.end(), 0);
    double total = 0;
    for (const int token : tokens)
        total += weights[static_cast<std::size_t>(token)];
    double left = uniform(m_random) * total;
    for (const int token : tokens) {
        left -= weights[static_cast<std::size_t>(token)];
        if (left < 0)
            return token;
    }
    return likeliest(logits); // rounding used up the whole sum
}

} // namespace secateur
