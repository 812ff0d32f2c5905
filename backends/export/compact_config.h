#pragma once

#include "analysis/export/compact_layout.h"

#include <string>
#include <vector>

namespace secateur {

/// The config.json of an export with one shape for all layers. Only keys that the layout changes differ.
/// @param config that of the source @param type of all matrices ("F16"); empty = as in the source
/// @throws Error if it is not a JSON object
std::string compactConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                          const std::string& type);

/// The classes of a classifier that an export adds to a checkpoint.
struct Classes {
    int count = 0;
    std::vector<std::string> names = {}; ///< [count]; empty = LABEL_0, LABEL_1...
    std::string modelClass = {};         ///< class of transformers that opens the export; empty = that of the source
};

/// A config.json with other classes. @throws Error if it is not a JSON object
std::string configWithClasses(const std::string& config, const Classes& classes);

/// A config.json that gives biases to all projections of attention, or of the MLP, or of both. @throws Error if it is
/// not a JSON object
std::string configWithBiases(const std::string& config, bool attention, bool mlp);

} // namespace secateur
