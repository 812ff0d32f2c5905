#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// Files that were found by their usual names.
struct FoundFiles {
    std::map<std::string, std::string> paths;  ///< by usual name
    std::map<std::string, std::int64_t> bytes; ///< sizes, by usual name
};

/// Searches a folder and its subfolders for files by their usual names. A name stands for, in this order:
/// 1. the file with this name, in upper or lower case;
/// 2. a file with the same extension whose name continues it: "hellaswag_val.jsonl" for "hellaswag.jsonl";
/// 3. in a folder with this name, without the extension, a file with the same extension whose name begins with "test"
/// or
///    "val", in this order: "piqa/valid.jsonl".
/// A name without extension ("mmlu") stands for .jsonl files. Of several files, the one with the shortest path is
/// taken. Hidden files and folders are not searched.
/// @throws Error if the folder cannot be read
FoundFiles findRecipeFiles(const std::string& folder, std::span<const std::string_view> names);

} // namespace secateur
