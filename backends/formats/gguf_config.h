#pragma once

#include "backends/formats/checkpoint.h"

#include <string>

namespace secateur {

class GgufMetadata;

/// Reads a GGUF file's metadata, and what it says by the presence of tensors: biases, tied embeddings, rotary divisors.
/// @throws Error naming the key
CheckpointDescription describeGguf(const std::string& path, const GgufMetadata& metadata, const Checkpoint& checkpoint);

} // namespace secateur
