#pragma once

#include "analysis/model/model_card.h"
#include "backends/formats/checkpoint.h"

#include <string>
#include <vector>

namespace secateur {

/// Reads a Hugging Face config.json, as written by transformers 4 or 5. Missing keys get the default values of the
/// configuration class. @param path the directory or file that the user opened
/// @throws Error naming the key
CheckpointDescription describeHf(const std::string& path, const std::string& configPath);

/// Name of the tokenizer file in a Hugging Face directory; empty if there is none.
std::string tokenizerFileIn(const std::string& directory);

/// Names of a classifier's classes from its config.json, in order. Empty unless it names every class.
std::vector<std::string> classNames(const ModelCard& model);

} // namespace secateur
