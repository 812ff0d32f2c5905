#pragma once

#include "analysis/model/model_spec.h"
#include "backends/base/json_object.h"

#include <string>
#include <string_view>

namespace secateur {

// Values of config.json by kind. What is absent or null takes the given default. @throws Error naming the key

/// From 1 to the most that a tensor may be wide.
int widthAt(const JsonObject& config, std::string_view key, int otherwise);
/// From 0.
int countAt(const JsonObject& config, std::string_view key, int otherwise);
double positiveAt(const JsonObject& config, std::string_view key, double otherwise);
/// An absent key takes the default, null means off: 0.
double switchableAt(const JsonObject& config, std::string_view key, double otherwise);
Activation activationAt(const JsonObject& config, std::string_view key, Activation otherwise);
/// The rotary scaling that a rope_scaling or rope_parameters object asks for.
void readScaling(const JsonObject& scaling, RotarySpec& rotary);

} // namespace secateur
