#pragma once

#include "backends/base/json_object.h"
#include "backends/config/architectures.h"
#include "backends/formats/gguf_metadata.h"

#include <string>
#include <vector>

namespace secateur {

/// The object of a config.json that describes the language model, with only the keys that its reader may see.
struct CheckedConfig {
    JsonObject config;
    std::vector<std::string> warnings; ///< names the keys that are not known
};

/// Checks the keys of a config.json, also in the objects in it. Multimodal checkpoints describe their language model in
/// text_config. @throws Error for a key that changes the computation in a way that is not supported
CheckedConfig checkedConfig(const JsonObject& file, const ArchitectureInfo& architecture);

/// The same for the metadata of a GGUF file. @param name of the architecture, in front of its keys
std::vector<std::string> checkedMetadata(const GgufMetadata& metadata, const ArchitectureInfo& architecture,
                                         const std::string& name);

} // namespace secateur
