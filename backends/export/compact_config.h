#pragma once

#include "analysis/export/compact_layout.h"

#include <string>

namespace secateur {

/// The config.json of an export with one shape for all layers. Only keys that the layout changes differ.
/// @param config that of the source @param type of all matrices ("F16"); empty = as in the source
/// @throws Error if it is not a JSON object
std::string compactConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                          const std::string& type);

} // namespace secateur
