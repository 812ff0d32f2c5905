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

/// How a format keeps the weights of a Hugging Face directory, whose config.json describes the model.
struct HfWeights {
    std::string_view index;  ///< lists the shards; preferred to
    std::string_view single; ///< the only file
    /// The tensors of one file. @throws Error
    std::vector<TensorEntry> (*read)(const std::shared_ptr<const MappedFile>& file);
};

/// Whether a directory holds a config.json and an index or a single file.
bool holdsWeights(const std::string& directory, const HfWeights& weights);

/// Opens a directory, an index, or a file beside its config.json; all shards when the file is one of several.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openHf(const std::string& path, const HfWeights& weights, const Progress& progress);

/// Names of the tensors by the name of the file that holds them.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

/// Reads a Hugging Face index ("model.safetensors.index.json"). Names of files are plain: they lead to no other folder.
/// @throws Error
ShardIndex readShardIndex(const std::shared_ptr<const MappedFile>& file);

} // namespace secateur
