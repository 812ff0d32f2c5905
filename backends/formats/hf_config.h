#pragma once

#include "analysis/model/model_card.h"
#include "backends/formats/checkpoint.h"

#include <string>
#include <vector>

namespace secateur {

/// Reads a Hugging Face config.json, as written by transformers 4 or 5. Missing keys take the configuration class's
/// defaults. @param path the directory or file that the user opened
/// @throws Error naming the key
CheckpointDescription describeHf(const std::string& path, const std::string& configPath);

/// Name of the file from which the tokenizer of a Hugging Face directory is read; empty if there is none.
std::string tokenizerFileIn(const std::string& directory);

/// Class names of a classifier from its config.json, in order; empty if it does not name all of them.
std::vector<std::string> classNames(const ModelCard& model);

} // namespace secateur
