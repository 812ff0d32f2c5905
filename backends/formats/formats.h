#pragma once

#include "analysis/base/progress.h"
#include "backends/formats/checkpoint.h"

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// One row of the format table.
struct FormatInfo {
    std::string_view id;
    std::string_view summary;
    std::array<std::string_view, 3> extensions;  ///< of a single file; unused elements are empty
    bool (*recognises)(std::string_view bytes);  ///< whether the first bytes of a file are those of this format
    bool (*holds)(const std::string& directory); ///< whether a directory contains a model in this format
    /// @throws Error, Cancelled
    std::unique_ptr<const Checkpoint> (*open)(const std::string& path, const Progress&);
};

/// In order of preference for a directory that holds several formats.
std::span<const FormatInfo> allFormats();

/// Extensions of all formats: ".safetensors", ".bin", ...
std::vector<std::string> modelExtensions();

/// The format of a file (by its first bytes, else by its extension) or of the files in a directory.
/// @throws Error if there is none, naming the format if it is known
const FormatInfo& formatOf(const std::string& path);

} // namespace secateur
