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

/// A row of the table of formats.
struct FormatInfo {
    std::string_view id;
    std::string_view summary;
    std::array<std::string_view, 3> extensions;  ///< extensions of a single file; unused elements are empty
    bool (*recognises)(std::string_view bytes);  ///< whether a file begins with these bytes
    bool (*holds)(const std::string& directory); ///< whether a directory contains a model in this format
    /// @throws Error, Cancelled
    std::unique_ptr<const Checkpoint> (*open)(const std::string& path, const Progress&);
};

/// The table of formats. In a directory with several formats, the first format that it contains is used.
std::span<const FormatInfo> allFormats();

/// Extensions of all formats: ".safetensors", ".bin" and so on.
std::vector<std::string> modelExtensions();

/// The format of a file, by its first bytes or else by its extension; or the format of the files in a directory.
/// @throws Error if no reader supports it; names the format if it is a known one
const FormatInfo& formatOf(const std::string& path);

} // namespace secateur
