#pragma once

#include "analysis/model/model_spec.h"

#include <span>
#include <string>

namespace secateur {

/// Inverse frequency of each rotary pair, scaling included (architectures.md 1.5).
double inverseFrequency(const RotarySpec& rotary, int pair);

/// The scaling that a list of divisors of the unscaled frequencies stands for: GGUF keeps llama3 scaling that way.
/// @param statedContext the original context if the file states it, else 0
/// @throws Error when a divisor is no positive number
RotarySpec scalingFromDivisors(RotarySpec unscaled, std::span<const float> divisors, int statedContext,
                               const std::string& subject);

} // namespace secateur
