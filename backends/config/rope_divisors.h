#pragma once

#include "analysis/model/model_spec.h"

#include <span>
#include <string>

namespace secateur {

/// Inverse frequency of a rotary pair, with scaling ("Rotary positions" in resources/manual/architecture.md).
double inverseFrequency(const RotarySpec& rotary, int pair);

/// The scaling that a list of divisors of the unscaled frequencies represents. GGUF stores llama3 scaling in this form.
/// @param statedContext the original context if the file gives it, else 0
/// @throws Error if a divisor is not a positive number
RotarySpec scalingFromDivisors(RotarySpec unscaled, std::span<const float> divisors, int statedContext,
                               const std::string& subject);

} // namespace secateur
