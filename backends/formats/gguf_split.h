#pragma once

#include "analysis/base/progress.h"
#include "backends/formats/gguf.h"

#include <optional>
#include <string>
#include <vector>

namespace secateur {

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

} // namespace secateur
