#pragma once

#include "analysis/model/model_card.h"
#include "backends/formats/checkpoint.h"

#include <string>
#include <vector>

namespace secateur {

/// Reads a Hugging Face config.json, in the spellings of transformers 4 and 5; what it leaves out is the configuration
/// class's default. @param path what the person opened: a directory or a file
/// @throws Error naming the key
CheckpointDescription describeHf(const std::string& path, const std::string& configPath);

/// What the config.json of an opened classifier calls its classes, in order; nothing where there is none, or where it
/// does not name them all.
std::vector<std::string> classNames(const ModelCard& model);

} // namespace secateur
