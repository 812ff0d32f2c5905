#pragma once

#include "analysis/model/model_spec.h"
#include "backends/config/architectures.h"

#include <cstdint>
#include <string>

namespace secateur {

/// What a size in a configuration may be at most; files hold far less.
inline constexpr std::int64_t mostLayers = 10'000;
inline constexpr std::int64_t mostWidth = 1 << 24;

/// What the architecture alone says of a model.
ModelSpec specOf(const ArchitectureInfo& architecture);

/// The size of a head when the configuration leaves it out. @throws Error when heads do not divide the width
int headDimOf(int hidden, int heads, const std::string& subject);

/// Query heads must come in whole KV groups, and rotary dimensions in pairs. @throws Error naming the layer
void checkLayers(const ModelSpec& spec, const std::string& subject);

} // namespace secateur
