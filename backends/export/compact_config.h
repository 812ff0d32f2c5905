#pragma once

#include "analysis/export/compact_layout.h"

#include <string>

namespace secateur {

/// The config.json of an export with one shape for all layers. Only keys that the layout changes differ.
/// @param config that of the source @param type of all matrices ("F16"); empty = as in the source
/// @throws Error if it is not a JSON object
std::string compactConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                          const std::string& type);

/// A config.json that gives biases to all projections of attention, or of the MLP, or of both. @throws Error if it is
/// not a JSON object
std::string configWithBiases(const std::string& config, bool attention, bool mlp);

} // namespace secateur
