#pragma once

#include "analysis/base/progress.h"
#include "backends/base/mapped_file.h"
#include "backends/formats/checkpoint.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Names of the weight files of a format in a Hugging Face directory, whose config.json describes the model.
struct HfWeights {
    std::string_view index;  ///< file that lists the shards; takes precedence over `single`
    std::string_view single; ///< file with all weights
    /// The tensors of one file. @throws Error
    std::vector<TensorEntry> (*read)(const std::shared_ptr<const MappedFile>& file);
};

/// Whether a directory contains a config.json and one of the two files.
bool holdsWeights(const std::string& directory, const HfWeights& weights);

/// Opens a directory, an index or a file in the folder of its config.json; all shards if the file is one of several.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openHf(const std::string& path, const HfWeights& weights, const Progress& progress);

/// For each file name, the names of its tensors.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

/// Reads a Hugging Face index ("model.safetensors.index.json"). File names must not contain a path.
/// @throws Error
ShardIndex readShardIndex(const std::shared_ptr<const MappedFile>& file);

/// The tensors of one file. @throws Error
std::vector<TensorEntry> safetensorsEntries(const std::shared_ptr<const MappedFile>& file);

inline constexpr HfWeights safetensorsWeights{"model.safetensors.index.json", "model.safetensors", safetensorsEntries};

/// Whether the first bytes of a file are the length of a JSON header and its opening brace.
bool looksLikeSafetensors(std::string_view bytes);

/// Opens a Hugging Face directory or a .safetensors file in the folder of its config.json; all shards if it is one of
/// several.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openSafetensors(const std::string& path, const Progress& progress);

} // namespace secateur
