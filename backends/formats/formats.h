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
    std::array<std::string_view, 3> extensions; ///< of a single file; the rest is empty
    bool (*recognises)(std::string_view bytes); ///< a file that begins as this format's do
    bool (*holds)(const std::string& directory);
    /// @throws Error, Cancelled
    std::unique_ptr<const Checkpoint> (*open)(const std::string& path, const Progress&);
};

/// In the order in which a directory that holds several formats prefers them.
std::span<const FormatInfo> allFormats();

/// Of files in all formats: ".safetensors", ".bin", ...
std::vector<std::string> modelExtensions();

/// The format of a file (by its bytes, else by extension) or of what a directory holds.
/// @throws Error when there is none, naming the foreign format where it is known
const FormatInfo& formatOf(const std::string& path);

} // namespace secateur
