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

/// File in an adapter's folder that names the classes of its classifier, in the form of a config.json.
inline constexpr const char* adapterClassesName = "classes.json";

/// Names of a classifier's classes, in order, from the file of its adapter or from its config.json. Empty unless every
/// class has a name.
std::vector<std::string> classNames(const ModelCard& model);

} // namespace secateur
