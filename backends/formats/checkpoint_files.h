#pragma once

#include "analysis/model/found_model.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace secateur {

/// The value of an environment variable that holds a path; "~/" at its beginning is replaced by the home directory.
/// Empty if the variable is not set.
std::string environmentPath(const char* name);

/// Paths of the entries of a folder, sorted by name. Empty if the folder cannot be listed.
/// @param most maximum number of entries that are read
std::vector<std::filesystem::path> entriesOf(const std::filesystem::path& folder,
                                             std::size_t most = std::numeric_limits<std::size_t>::max());

// Both follow symbolic links, and are false for a broken link.
bool isFile(const std::filesystem::path& path);
bool isFolder(const std::filesystem::path& path);

/// Time of the last write to a file or folder, in seconds since 1970; 0 if it is unknown.
std::int64_t modifiedSeconds(const std::filesystem::path& path);

/// The weight files next to a config.json, in the first format of which there are files. Empty if there are none.
std::vector<std::filesystem::path> weightFilesIn(const std::filesystem::path& folder);

/// The files of each GGUF model of a folder. The first file of a model is the one to open. Image encoders ("mmproj")
/// are left out. @param most maximum number of entries of the folder that are read
std::vector<std::vector<std::filesystem::path>> ggufsIn(const std::filesystem::path& folder,
                                                        std::size_t most = std::numeric_limits<std::size_t>::max());

/// Like ggufsIn(), for a folder and its subfolders.
std::vector<std::vector<std::filesystem::path>> allGgufs(const std::filesystem::path& folder);

/// A model with the size and the time of its files. @param files its weights
FoundModel foundModel(const std::string& name, const std::filesystem::path& path,
                      const std::vector<std::filesystem::path>& files);

} // namespace secateur
