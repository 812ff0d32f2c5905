#pragma once

#include "analysis/model/model_spec.h"

#include <string>
#include <string_view>

namespace secateur {

/// As much of a model as its structure says (ModelSpec::structure()): enough to read its masks and to count what they
/// cut, nothing else. Layers without heads count as without attention, those without KV heads as of a linear one, and
/// none share their weights.
/// @throws Error when the text is no structure, or one of more parts than any model has
ModelSpec specOf(const std::string& architecture, std::string_view structure);

} // namespace secateur
