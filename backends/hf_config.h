#pragma once

#include "backends/checkpoint.h"

#include <string>

namespace secateur {

/// Reads a Hugging Face config.json, in the spellings of transformers 4 and 5; what it leaves out is the configuration
/// class's default. @param path what the person opened: a directory or a file
/// @throws Error naming the key
CheckpointDescription describeHf(const std::string& path, const std::string& configPath);

} // namespace secateur
