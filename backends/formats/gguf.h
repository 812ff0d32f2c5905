#pragma once

#include "analysis/base/progress.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/gguf_metadata.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace secateur {

/// One GGUF file, which may be a part of a split model. Metadata and tensors are views of `file`.
struct GgufPart {
    std::shared_ptr<const MappedFile> file;
    GgufMetadata metadata;
    std::vector<TensorEntry> tensors; ///< may be empty
};

/// Reads metadata and tensor directory of GGUF version 2 or 3. @throws Error
GgufPart readGguf(const std::shared_ptr<const MappedFile>& file);

/// Opens a GGUF file, all parts of a split model if the file is one of them, or the only model in a directory.
/// @throws Error, Cancelled
std::unique_ptr<const Checkpoint> openGguf(const std::string& path, const Progress& progress);

/// The name of a part of a split model: "model-00002-of-00003.gguf".
struct GgufPartName {
    std::string model; ///< "model"
    int number = 0;    ///< from 1
    int count = 0;
};

/// The parts of a name; nothing if the file is not named as a part of a split model.
std::optional<GgufPartName> ggufPartName(const std::string& fileName);

/// All parts, in order, of the model that a file belongs to; the file alone if it is not split.
/// @throws Error if a part is missing or belongs to another model; Cancelled
std::vector<GgufPart> readGgufParts(const std::string& path, const Progress& progress);

/// Whether a directory holds a .gguf file.
bool holdsGguf(const std::string& directory);
/// The .gguf file in a directory, or a part of its only split model. @throws Error if there is no model; or several,
/// listing them
std::string ggufModelIn(const std::string& directory);

/// The description from a GGUF file's metadata; biases, tied embeddings and rotary divisors follow from its tensors.
/// @throws Error naming the key
CheckpointDescription describeGguf(const std::string& path, const GgufMetadata& metadata, const Checkpoint& checkpoint);

} // namespace secateur
