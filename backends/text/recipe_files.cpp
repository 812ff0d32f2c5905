#include "backends/text/recipe_files.h"

#include "analysis/base/error.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <optional>
#include <tuple>
#include <vector>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr int deepestFolder = 6;
constexpr std::size_t mostEntries = 100'000;

std::string lowered(std::string text) {
    for (char& c : text)
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

/// All files that are not hidden, in the order of their paths.
std::vector<fs::path> filesBelow(const std::string& folder) {
    std::vector<fs::path> files;
    std::error_code failure;
    fs::recursive_directory_iterator entries(folder, fs::directory_options::skip_permission_denied, failure);
    if (failure)
        throw Error("the folder cannot be read: " + failure.message(), folder);
    for (std::size_t count = 0; entries != fs::recursive_directory_iterator() && count < mostEntries; ++count) {
        const bool isHidden = entries->path().filename().string().starts_with('.');
        if (entries->is_directory(failure) && (isHidden || entries.depth() >= deepestFolder))
            entries.disable_recursion_pending();
        else if (!isHidden && entries->is_regular_file(failure))
            files.push_back(entries->path());
        entries.increment(failure);
        if (failure)
            break;
    }
    std::ranges::sort(files);
    return files;
}

/// How well a file fits a usual name: 0 is best. Empty = not at all.
std::optional<int> fitOf(const fs::path& file, std::string_view name) {
    const fs::path usual(name);
    const std::string extension = usual.has_extension() ? usual.extension().string() : ".jsonl";
    if (lowered(file.extension().string()) != lowered(extension))
        return std::nullopt;
    const std::string stem = lowered(file.stem().string());
    const std::string wanted = lowered(usual.stem().string());
    if (stem == wanted)
        return 0;
    constexpr std::array splits{"test", "val"};
    // "test_first40" may be the test part of anything.
    const bool isSplit = std::ranges::find(splits, wanted) != splits.end();
    if (!isSplit && stem.starts_with(wanted) && std::isalnum(static_cast<unsigned char>(stem[wanted.size()])) == 0)
        return 1;
    if (lowered(file.parent_path().filename().string()) != wanted)
        return std::nullopt;
    for (int i = 0; i < 2; ++i)
        if (stem.starts_with(splits[static_cast<std::size_t>(i)]))
            return 2 + i;
    return std::nullopt;
}

} // namespace

FoundFiles findRecipeFiles(const std::string& folder, std::span<const std::string_view> names) {
    const std::vector<fs::path> files = filesBelow(folder);
    FoundFiles found;
    for (const std::string_view name : names) {
        const fs::path* best = nullptr;
        std::tuple<int, std::size_t> bestFit;
        for (const fs::path& file : files) {
            const auto fit = fitOf(file, name);
            if (!fit)
                continue;
            const std::tuple own(*fit, file.string().size());
            if (!best || own < bestFit) {
                best = &file;
                bestFit = own;
            }
        }
        if (!best)
            continue;
        std::error_code failure;
        const auto size = fs::file_size(*best, failure);
        found.paths[std::string(name)] = best->string();
        if (!failure)
            found.bytes[std::string(name)] = static_cast<std::int64_t>(size);
    }
    return found;
}

} // namespace secateur
