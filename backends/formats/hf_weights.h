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

/// A format of weight files in a Hugging Face directory, where config.json describes the model.
struct HfWeights {
    std::string_view index;  ///< name of the file that lists the shards; takes precedence over `single`
    std::string_view single; ///< name of the file with all weights
    /// Lists the tensors of one file. @throws Error
    std::vector<TensorEntry> (*read)(const std::shared_ptr<const MappedFile>& file);
};

/// Whether a directory contains a config.json and a weight file or index of this format.
bool holdsWeights(const std::string& directory, const HfWeights& weights);

/// Opens a Hugging Face directory, an index file or a weight file next to its config.json. If the file is one of
/// several shards, opens all of them. @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openHf(const std::string& path, const HfWeights& weights, const Progress& progress);

/// Names of tensors by file name.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

/// Reads a Hugging Face index ("model.safetensors.index.json"). File names must not contain a path.
/// @throws Error
ShardIndex readShardIndex(const std::shared_ptr<const MappedFile>& file);

/// Lists the tensors of a safetensors file. @throws Error
std::vector<TensorEntry> safetensorsEntries(const std::shared_ptr<const MappedFile>& file);

/// The texts that a safetensors file states besides its tensors, by key. @throws Error as safetensorsEntries()
std::map<std::string, std::string> safetensorsMetadata(const std::shared_ptr<const MappedFile>& file);

inline constexpr HfWeights safetensorsWeights{"model.safetensors.index.json", "model.safetensors", safetensorsEntries};

/// Whether bytes begin a safetensors file: the length of a JSON header, and its opening brace.
bool looksLikeSafetensors(std::string_view bytes);

/// Opens a Hugging Face directory, or a .safetensors file next to its config.json. If the file is one of several
/// shards, opens all of them. @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openSafetensors(const std::string& path, const Progress& progress);

} // namespace secateur
