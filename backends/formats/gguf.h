#pragma once

#include "analysis/base/progress.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/gguf_metadata.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// One GGUF file, which may be a part of a split model. Metadata and tensors view `file`.
struct GgufPart {
    std::shared_ptr<const MappedFile> file;
    GgufMetadata metadata;
    std::vector<TensorEntry> tensors; ///< none is possible
};

/// Reads metadata and directory of version 2 or 3. @throws Error
GgufPart readGguf(const std::shared_ptr<const MappedFile>& file);

/// Opens a GGUF file, all parts of a split one whichever is named, or the only model in a directory.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openGguf(const std::string& path, const Progress& progress);

/// The name of a part of a split model: "model-00002-of-00003.gguf".
struct GgufPartName {
    std::string model; ///< "model"
    int number = 0;    ///< from 1
    int count = 0;
};

/// Nothing when the file is not named as a part.
std::optional<GgufPartName> ggufPartName(const std::string& fileName);

/// All parts, in order, of the model that a file is a part of; the file alone when it is not split.
/// @throws Error when a part is missing or says that it belongs elsewhere; Cancelled
std::vector<GgufPart> readGgufParts(const std::string& path, const Progress& progress);

/// Whether a directory holds a .gguf file.
bool holdsGguf(const std::string& directory);
/// The .gguf file in a directory, or a part of its only split model. @throws Error listing them when there are several
std::string ggufModelIn(const std::string& directory);

class GgufMetadata;

/// Reads a GGUF file's metadata, and what it says by the presence of tensors: biases, tied embeddings, rotary divisors.
/// @throws Error naming the key
CheckpointDescription describeGguf(const std::string& path, const GgufMetadata& metadata, const Checkpoint& checkpoint);

} // namespace secateur
