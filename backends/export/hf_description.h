#pragma once

#include "analysis/model/model_spec.h"
#include "backends/formats/gguf_metadata.h"

#include <string>

namespace secateur {

/// A config.json for a decoder that was read from a GGUF file. All layers must have the shape of the first.
/// @param metadata for the ids of special tokens @throws Error if transformers has no such architecture
std::string describedForHf(const ModelSpec& spec, const GgufMetadata& metadata);

} // namespace secateur
