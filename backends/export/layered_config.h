#pragma once

#include "analysis/export/compact_layout.h"

#include <string>
#include <string_view>

namespace secateur {

// The config.json of checkpoints whose layers differ. @param config that of the source @param type of all matrices
// ("F16"); empty = as in the source @throws Error if it is not a JSON object

/// With per_layer_config and the classes of modelCode().
std::string perLayerConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                           const std::string& type);
/// With block_configs, for DeciLM.
std::string deciLmConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                         const std::string& type);
/// With pruned_heads, for encoders in transformers 4. @param mask of which the cut heads are listed
std::string prunedHeadsConfig(const std::string& config, const ModelSpec& source, const ExportLayout& layout,
                              const PruningMask& mask, const std::string& type);

/// The Python classes for checkpoints with per_layer_config, and the name of their file.
std::string_view modelCode();
inline constexpr const char* modelCodeName = "modeling_secateur.py";

} // namespace secateur
