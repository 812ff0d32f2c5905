#pragma once

#include <set>
#include <string>
#include <vector>

namespace secateur {

/// What lies beside the weights of a Hugging Face directory, by name.
struct CompanionFiles {
    std::vector<std::string> copied;  ///< configuration, tokenizer, code and other small files
    std::vector<std::string> leftOut; ///< weights in other formats, large and hidden files, folders
};

/// Sorts the files of a folder. @param taken names that are written already and in neither list
CompanionFiles companionFiles(const std::string& folder, const std::set<std::string>& taken);

} // namespace secateur
