#pragma once

#include "analysis/base/progress.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/gguf_metadata.h"

#include <memory>
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

} // namespace secateur
