#pragma once

#include "backends/config/architectures.h"
#include "backends/base/json_object.h"

#include <vector>

namespace secateur {

/// The layers that a config.json describes: their shapes, biases, windows and rotary positions.
/// @param hidden width of the stream. @throws Error naming the key
std::vector<LayerSpec> readLayers(const JsonObject& config, const ArchitectureInfo& architecture, int hidden);

} // namespace secateur
