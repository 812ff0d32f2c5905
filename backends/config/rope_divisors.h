#pragma once

#include "analysis/model/model_spec.h"

#include <span>
#include <string>

namespace secateur {

/// Inverse frequency of a rotary pair under the scaling of `rotary` ("Rotary positions" in
/// resources/manual/architecture.md).
double inverseFrequency(const RotarySpec& rotary, int pair);

/// The rotary positions whose frequencies are the unscaled frequencies divided by `divisors`. Recognises llama3
/// scaling, which GGUF stores in this form.
/// @param statedContext original context; 0 if the file does not state it
/// @throws Error if a divisor is not a positive number
RotarySpec scalingFromDivisors(RotarySpec unscaled, std::span<const float> divisors, int statedContext,
                               const std::string& subject);

} // namespace secateur
