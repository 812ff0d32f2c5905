#include "backends/formats/hub_cache.h"

#include "backends/base/mapped_file.h"
#include "backends/formats/checkpoint_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view repositoryPrefix = "models--";

bool holdsCheckpoint(const fs::path& snapshot) {
    return !weightFilesIn(snapshot).empty() || !allGgufs(snapshot).empty();
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

void addModels(std::vector<FoundModel>& models, const fs::path& repository) {
    const std::optional<fs::path> snapshot = snapshotWithCheckpoint(repository);
    if (!snapshot)
        return;
    const std::string name = hubName(repository);
    if (const std::vector<fs::path> weights = weightFilesIn(*snapshot); !weights.empty())
        models.push_back(foundModel(name, *snapshot, weights));
    for (const std::vector<fs::path>& files : allGgufs(*snapshot))
        models.push_back(
            foundModel(name + "/" + files.front().lexically_relative(*snapshot).string(), files.front(), files));
}

bool isRepository(const fs::path& path) {
    return path.filename().string().starts_with(repositoryPrefix) && isFolder(path / "snapshots");
}

} // namespace

std::string hubCacheFolder() {
    for (const char* name : {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"})
        if (std::string folder = environmentPath(name); !folder.empty())
            return folder;
    constexpr std::array<std::pair<const char*, const char*>, 3> places{
        {{"HF_HOME", "hub"}, {"XDG_CACHE_HOME", "huggingface/hub"}, {"HOME", ".cache/huggingface/hub"}}};
    for (const auto& [name, below] : places)
        if (const std::string folder = environmentPath(name); !folder.empty())
            return (fs::path(folder) / below).string();
    return {};
}

std::vector<FoundModel> cachedModels(const std::string& folder, const Progress& progress) {
    std::vector<FoundModel> models;
    for (const fs::path& repository : entriesOf(folder)) {
        progress.check();
        if (isRepository(repository))
            addModels(models, repository);
    }
    std::ranges::stable_sort(models, std::greater(), &FoundModel::modified);
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
    return (weightFilesIn(*snapshot).empty() && ggufs.size() == 1 ? ggufs.front().front() : *snapshot).string();
}

} // namespace secateur
