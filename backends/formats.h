#pragma once

#include "analysis/progress.h"
#include "backends/checkpoint.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// One row of the format table.
struct FormatInfo {
    std::string_view id;
    std::string_view summary;
    std::string_view extension;     ///< of a single file
    std::string_view magic;         ///< first bytes of a single file; empty = none
    std::string_view directoryFile; ///< a directory that holds this file is in the format; empty = never a directory
    /// @throws Error, Cancelled
    std::unique_ptr<const Checkpoint> (*open)(const std::string& path, const Progress&);
};

std::span<const FormatInfo> allFormats();

/// The format of a file (by magic, else by extension) or a directory. @throws Error when there is none
const FormatInfo& formatOf(const std::string& path);

} // namespace secateur
