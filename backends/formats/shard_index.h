#pragma once

#include "backends/base/mapped_file.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace secateur {

/// Names of the tensors by the name of the file that holds them.
using ShardIndex = std::map<std::string, std::vector<std::string>>;

/// Reads a Hugging Face index ("model.safetensors.index.json"). Names of files are plain: they lead to no other folder.
/// @throws Error
ShardIndex readShardIndex(const std::shared_ptr<const MappedFile>& file);

} // namespace secateur
