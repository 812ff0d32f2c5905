#pragma once

#include "analysis/base/progress.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/gguf_metadata.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// A GGUF file, which may be a part of a split model. Metadata and tensors refer to the mapped `file`.
struct GgufPart {
    std::shared_ptr<const MappedFile> file;
    GgufMetadata metadata;
    std::vector<TensorEntry> tensors; ///< tensors of this file; may be empty
};

/// Reads the metadata and the tensor directory of a GGUF file of version 2 or 3. @throws Error
GgufPart readGguf(const std::shared_ptr<const MappedFile>& file);

/// Opens a GGUF file or the only model in a directory. If the file is a part of a split model, opens all parts.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openGguf(const std::string& path, const Progress& progress);

/// The elements of the file name of a part of a split model: "model-00002-of-00003.gguf".
struct GgufPartName {
    std::string model; ///< "model"
    int number = 0;    ///< number of the part, counted from 1
    int count = 0;
};

/// The elements of a file name. Empty if it is not the name of a part of a split model.
std::optional<GgufPartName> ggufPartName(const std::string& fileName);

/// All parts, in order, of the split model that a file belongs to. If the file is not a part, only the file.
/// @throws Error if a part is missing or belongs to another model; Cancelled
std::vector<GgufPart> readGgufParts(const std::string& path, const Progress& progress);

/// Whether a directory contains a .gguf file.
bool holdsGguf(const std::string& directory);
/// The path of the .gguf file in a directory. If its only model is split, the path of one of its parts.
/// @throws Error if there is no model, or several, which it lists
std::string ggufModelIn(const std::string& directory);

/// Describes a model by the metadata of a GGUF file. Its tensors tell whether there are biases, tied embeddings and
/// rotary divisors. @throws Error naming the key
CheckpointDescription describeGguf(const std::string& path, const GgufMetadata& metadata, const Checkpoint& checkpoint);

} // namespace secateur
