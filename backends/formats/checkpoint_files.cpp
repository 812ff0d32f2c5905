#include "backends/formats/checkpoint_files.h"

#include "backends/formats/hf_weights.h"
#include "backends/formats/pytorch.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string_view>
#include <system_error>

namespace secateur {

namespace fs = std::filesystem;

namespace {

template <typename Keep>
std::vector<fs::path> filesIn(const fs::path& folder, Keep keep,
                              std::size_t most = std::numeric_limits<std::size_t>::max()) {
    std::vector<fs::path> files = entriesOf(folder, most);
    std::erase_if(files, [&](const fs::path& file) { return !keep(file.filename().string()) || !isFile(file); });
    return files;
}

/// The common beginning of the names of a split model's parts: "name-" for "name-00001-of-00003.gguf". Empty for other
/// files.
std::optional<std::string> splitName(const std::string& name) {
    constexpr std::string_view form = "-00001-of-00003.gguf";
    if (name.size() <= form.size())
        return {};
    const std::string_view tail = std::string_view(name).substr(name.size() - form.size());
    for (std::size_t i = 0; i < form.size(); ++i) {
        const bool isDigit = tail[i] >= '0' && tail[i] <= '9';
        const bool wantsDigit = form[i] >= '0' && form[i] <= '9';
        if (wantsDigit ? !isDigit : tail[i] != form[i])
            return {};
    }
    return name.substr(0, name.size() - form.size() + 1);
}

} // namespace

std::string environmentPath(const char* name) {
    const char* value = std::getenv(name);
    std::string text = value ? value : "";
    if (text.starts_with("~/"))
        text.replace(0, 1, environmentPath("HOME"));
    return text;
}

std::vector<fs::path> entriesOf(const fs::path& folder, std::size_t most) {
    std::vector<fs::path> entries;
    std::error_code failure;
    for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end && entries.size() < most;
         entry.increment(failure))
        entries.push_back(entry->path());
    std::ranges::sort(entries);
    return entries;
}

bool isFile(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored);
}

bool isFolder(const fs::path& path) {
    std::error_code ignored;
    return fs::is_directory(path, ignored);
}

std::int64_t modifiedSeconds(const fs::path& path) {
    std::error_code failure;
    const fs::file_time_type time = fs::last_write_time(path, failure);
    if (failure)
        return 0;
    const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

std::vector<fs::path> weightFilesIn(const fs::path& folder) {
    if (!isFile(folder / "config.json"))
        return {};
    for (const HfWeights& format : {safetensorsWeights, pytorchWeights}) {
        const fs::path single(format.single);
        if (isFile(folder / single))
            return {folder / single};
        if (!isFile(folder / format.index))
            continue;
        auto shards = filesIn(folder, [&](const std::string& name) {
            return name.starts_with(single.stem().string()) && name.ends_with(single.extension().string());
        });
        if (!shards.empty())
            return shards;
    }
    return {};
}

std::vector<std::vector<fs::path>> ggufsIn(const fs::path& folder, std::size_t most) {
    const auto isModel = [](const std::string& name) { return name.ends_with(".gguf") && !name.starts_with("mmproj"); };
    std::vector<std::vector<fs::path>> models;
    std::optional<std::string> current;
    for (const fs::path& file : filesIn(folder, isModel, most)) {
        const std::optional<std::string> split = splitName(file.filename().string());
        if (split && split == current)
            models.back().push_back(file);
        else
            models.push_back({file});
        current = split;
    }
    return models;
}

std::vector<std::vector<fs::path>> allGgufs(const fs::path& folder) {
    std::vector<std::vector<fs::path>> models = ggufsIn(folder);
    for (const fs::path& each : entriesOf(folder)) // split models often have a folder of their own
        if (isFolder(each))
            std::ranges::move(ggufsIn(each), std::back_inserter(models));
    return models;
}

FoundModel foundModel(const std::string& name, const fs::path& path, const std::vector<fs::path>& files) {
    FoundModel model{name, path.string()};
    for (const fs::path& file : files) {
        std::error_code failure;
        const std::uintmax_t bytes = fs::file_size(file, failure);
        if (failure)
            continue;
        model.bytes += static_cast<std::int64_t>(bytes);
        model.modified = std::max(model.modified, modifiedSeconds(file));
    }
    return model;
}

} // namespace secateur
