#pragma once

#include <cstdint>
#include <random>
#include <span>

namespace secateur {

/// How the next token is chosen.
struct Sampling {
    double temperature = 0; ///< 0 = the likeliest token; of equally likely ones that with the lowest id
    double topP = 1;        ///< draw among the fewest likeliest tokens whose probabilities sum to this
    std::uint64_t seed = 0;

    bool operator==(const Sampling&) const = default;
};

/// @throws UsageError when the temperature is negative or not finite, or topP is outside (0, 1]
void checkSampling(const Sampling& sampling);

/// Chooses tokens for one text. The same seed and logits give the same tokens, whatever the standard library.
class Sampler {
public:
    /// @throws UsageError as checkSampling
    explicit Sampler(const Sampling& sampling);

    /// @param logits of every token. @throws Error when one is NaN, or the highest is infinite
    int next(std::span<const float> logits);

private:
    int draw(std::span<const float> logits);

    Sampling m_sampling;
    std::mt19937_64 m_random;
};

} // namespace secateur
