#include "backends/formats/hub_cache.h"

#include "backends/base/mapped_file.h"
#include "backends/formats/hf_weights.h"
#include "backends/formats/pytorch.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view repositoryPrefix = "models--";

std::string environment(const char* name) {
    const char* value = std::getenv(name);
    std::string text = value ? value : "";
    if (text.starts_with("~/"))
        text.replace(0, 1, environment("HOME"));
    return text;
}

/// Paths of the entries of a folder, sorted by name. Empty if the folder cannot be listed.
std::vector<fs::path> entriesOf(const fs::path& folder) {
    std::vector<fs::path> entries;
    std::error_code failure;
    for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end; entry.increment(failure))
        entries.push_back(entry->path());
    std::ranges::sort(entries);
    return entries;
}

bool isFile(const fs::path& path) {
    std::error_code ignored;
    return fs::is_regular_file(path, ignored); // follows symbolic links; false for a broken link
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

/// Adds the sizes of files to the size of a model. Sets its time to that of the newest file.
void addFiles(CachedModel& model, const std::vector<fs::path>& files) {
    for (const fs::path& file : files) {
        std::error_code failure;
        const std::uintmax_t bytes = fs::file_size(file, failure);
        if (failure)
            continue;
        model.bytes += static_cast<std::int64_t>(bytes);
        model.modified = std::max(model.modified, modifiedSeconds(file));
    }
}

template <typename Keep>
std::vector<fs::path> filesIn(const fs::path& folder, Keep keep) {
    std::vector<fs::path> files = entriesOf(folder);
    std::erase_if(files, [&](const fs::path& file) { return !keep(file.filename().string()) || !isFile(file); });
    return files;
}

/// The weight files next to a config.json, in the first format of which there are files.
std::vector<fs::path> weightsIn(const fs::path& snapshot) {
    if (!isFile(snapshot / "config.json"))
        return {};
    for (const HfWeights& format : {safetensorsWeights, pytorchWeights}) {
        const fs::path single(format.single);
        if (isFile(snapshot / single))
            return {snapshot / single};
        if (!isFile(snapshot / format.index))
            continue;
        auto shards = filesIn(snapshot, [&](const std::string& name) {
            return name.starts_with(single.stem().string()) && name.ends_with(single.extension().string());
        });
        if (!shards.empty())
            return shards;
    }
    return {};
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

/// The files of each GGUF model. The first file of a model is the one to open. Image encoders ("mmproj") are left out.
std::vector<std::vector<fs::path>> ggufsIn(const fs::path& folder) {
    std::vector<std::vector<fs::path>> models;
    std::optional<std::string> current;
    for (const fs::path& file : filesIn(
             folder, [](const std::string& name) { return name.ends_with(".gguf") && !name.starts_with("mmproj"); })) {
        const std::optional<std::string> split = splitName(file.filename().string());
        if (split && split == current)
            models.back().push_back(file);
        else
            models.push_back({file});
        current = split;
    }
    return models;
}

std::vector<std::vector<fs::path>> allGgufs(const fs::path& snapshot) {
    std::vector<std::vector<fs::path>> models = ggufsIn(snapshot);
    for (const fs::path& folder : entriesOf(snapshot)) // split models often have a folder of their own
        if (isFolder(folder))
            std::ranges::move(ggufsIn(folder), std::back_inserter(models));
    return models;
}

bool holdsCheckpoint(const fs::path& snapshot) {
    return !weightsIn(snapshot).empty() || !allGgufs(snapshot).empty();
}

/// The snapshots of a repository: first the one that refs/main names, then the others from newest to oldest.
std::vector<fs::path> snapshotsOf(const fs::path& repository) {
    constexpr std::size_t longestReference = 200; // a commit has 40 digits
    std::string main;
    if (const fs::path reference = repository / "refs" / "main"; isFile(reference))
        std::istringstream(beginningOf(reference.string(), longestReference)) >> main;
    std::vector<fs::path> snapshots = entriesOf(repository / "snapshots");
    std::erase_if(snapshots, [](const fs::path& path) { return !isFolder(path); });
    std::ranges::sort(snapshots, std::greater(),
                      [&](const fs::path& path) { return std::pair(path.filename() == main, modifiedSeconds(path)); });
    return snapshots;
}

std::optional<fs::path> snapshotWithCheckpoint(const fs::path& repository) {
    const std::vector<fs::path> snapshots = snapshotsOf(repository);
    const auto found = std::ranges::find_if(snapshots, holdsCheckpoint);
    return found == snapshots.end() ? std::nullopt : std::optional(*found);
}

/// The name of a repository on the hub: "ORG/NAME" for "models--ORG--NAME".
std::string hubName(const fs::path& repository) {
    std::string name = repository.filename().string().substr(repositoryPrefix.size());
    if (const std::size_t dashes = name.find("--"); dashes != std::string::npos)
        name.replace(dashes, 2, "/");
    return name;
}

void addModels(std::vector<CachedModel>& models, const fs::path& repository) {
    const std::optional<fs::path> snapshot = snapshotWithCheckpoint(repository);
    if (!snapshot)
        return;
    const auto add = [&](const std::string& name, const fs::path& path, const std::vector<fs::path>& files) {
        CachedModel& model = models.emplace_back(CachedModel{name, path.string(), 0, 0});
        addFiles(model, files);
    };
    if (const std::vector<fs::path> weights = weightsIn(*snapshot); !weights.empty())
        add(hubName(repository), *snapshot, weights);
    for (const std::vector<fs::path>& files : allGgufs(*snapshot))
        add(hubName(repository) + "/" + files.front().lexically_relative(*snapshot).string(), files.front(), files);
}

bool isRepository(const fs::path& path) {
    return path.filename().string().starts_with(repositoryPrefix) && isFolder(path / "snapshots");
}

} // namespace

std::string hubCacheFolder() {
    for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
        if (std::string folder = environment(name); !folder.empty())
            return folder;
    constexpr std::array<std::pair<const char*, const char*>, 3> places{
        {{"HF_HOME", "hub"}, {"XDG_CACHE_HOME", "huggingface/hub"}, {"HOME", ".cache/huggingface/hub"}}};
    for (const auto& [name, below] : places)
        if (const std::string folder = environment(name); !folder.empty())
            return (fs::path(folder) / below).string();
    return {};
}

std::vector<CachedModel> cachedModels(const std::string& folder, const Progress& progress) {
    std::vector<CachedModel> models;
    for (const fs::path& repository : entriesOf(folder)) {
        progress.check();
        if (isRepository(repository))
            addModels(models, repository);
    }
    std::ranges::stable_sort(models, std::greater(), &CachedModel::modified);
    return models;
}

std::string snapshotOf(const std::string& path) {
    fs::path repository = path;
    if (!repository.has_filename()) // the path ends with a slash
        repository = repository.parent_path();
    const bool isOne = isRepository(repository);
    const std::optional<fs::path> snapshot = isOne ? snapshotWithCheckpoint(repository) : std::nullopt;
    if (!snapshot)
        return path;
    const auto ggufs = allGgufs(*snapshot);
    return (weightsIn(*snapshot).empty() && ggufs.size() == 1 ? ggufs.front().front() : *snapshot).string();
}

} // namespace secateur
