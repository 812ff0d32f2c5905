#pragma once

#include <set>
#include <string>
#include <vector>

namespace secateur {

/// The files beside the weights in a Hugging Face directory, as an export treats them. A symbolic link is followed only
/// if it leads to a file in the directory or, from a snapshot in Hugging Face's cache, in the blobs of the same
/// repository: a downloaded model must not make an export copy other files of the user.
struct CompanionFiles {
    std::vector<std::string> copied;   ///< configuration, tokenizer, code and other small files
    std::vector<std::string> leftOut;  ///< weights in other formats, large and hidden files, folders, links elsewhere
    std::vector<std::string> warnings; ///< a sentence for each link that leads elsewhere
};

/// The directory of a model: its path, or that of its file. @param path by which it was opened
std::string modelFolder(const std::string& path);

/// Lists the files of a directory as copied or left out. Names are sorted.
/// @param taken files that the export writes itself, in neither list @throws std::filesystem::filesystem_error
CompanionFiles companionFiles(const std::string& folder, const std::set<std::string>& taken);

/// The content of a file of the directory; empty if there is none, or if it is a link that leads elsewhere.
/// @throws Error if it cannot be read
std::string companionContent(const std::string& folder, const std::string& name);

} // namespace secateur
