#include "backends/formats/found_models.h"

#include "backends/formats/checkpoint_files.h"
#include "backends/formats/hub_cache.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>
#include <string_view>
#include <system_error>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view demoModelName = "SmolLM2-135M-Instruct.Q4_1.gguf"; ///< also in scripts/fetch-demo-model.sh

// Limits of the search, so that it ends soon on slow disks.
constexpr std::size_t mostEntries = 500;
constexpr std::size_t mostSubfolders = 100;
constexpr std::size_t mostFolders = 12;

FoundModel outsideHub(const fs::path& path, const std::vector<fs::path>& files) {
    FoundModel model = foundModel(path.filename().string(), path, files);
    model.folder = path.parent_path().string();
    return model;
}

void addGgufs(std::vector<FoundModel>& models, const fs::path& folder) {
    for (const std::vector<fs::path>& files : ggufsIn(folder, mostEntries))
        models.push_back(outsideHub(files.front(), files));
}

bool isHidden(const fs::path& path) {
    return path.filename().string().starts_with('.');
}

/// The path without symbolic links, by which two names of one checkpoint are recognised.
std::string canonicalPath(const fs::path& path) {
    std::error_code failure;
    const fs::path canonical = fs::canonical(path, failure);
    return failure ? path.lexically_normal().string() : canonical.string();
}

/// The folder in which the neighbours of an opened file are. For a file inside a model's folder, that is the folder
/// which has the model.
fs::path folderAround(fs::path opened) {
    if (!opened.has_filename()) // the path ends with a slash
        opened = opened.parent_path();
    const fs::path folder = opened.parent_path();
    return weightFilesIn(folder).empty() ? folder : folder.parent_path();
}

/// The folders to search, each once.
std::vector<fs::path> foldersAround(std::span<const std::string> opened) {
    const std::string hub = hubCacheFolder();
    std::vector<fs::path> folders;
    for (const std::string& path : opened) {
        const fs::path folder = folderAround(path);
        const bool isInHub = !hub.empty() && canonicalPath(folder).starts_with(canonicalPath(hub) + '/');
        if (folder.has_relative_path() && !isInHub && folders.size() < mostFolders &&
            std::ranges::find(folders, folder) == folders.end())
            folders.push_back(folder);
    }
    return folders;
}

} // namespace

std::string demoModelFolder() {
    if (const std::string cache = environmentPath("XDG_CACHE_HOME"); !cache.empty())
        return (fs::path(cache) / "secateur").string();
    const std::string home = environmentPath("HOME");
    return home.empty() ? home : (fs::path(home) / ".cache" / "secateur").string();
}

std::vector<FoundModel> modelsOfFolder(const std::string& folder, const Progress& progress) {
    std::vector<FoundModel> models;
    addGgufs(models, folder);
    std::size_t subfolders = 0;
    for (const fs::path& entry : entriesOf(folder, mostEntries)) {
        progress.check();
        if (isHidden(entry) || !isFolder(entry) || ++subfolders > mostSubfolders)
            continue;
        if (const std::vector<fs::path> weights = weightFilesIn(entry); !weights.empty())
            models.push_back(outsideHub(entry, weights));
        addGgufs(models, entry);
    }
    return models;
}

std::vector<FoundModel> foundModels(std::span<const std::string> opened, const Progress& progress) {
    std::vector<FoundModel> models = cachedModels(hubCacheFolder(), progress);
    const fs::path demo = demoModelFolder();
    std::vector<fs::path> folders = foldersAround(opened);
    if (!demo.empty())
        folders.insert(folders.begin(), demo);
    for (const fs::path& folder : folders)
        std::ranges::move(modelsOfFolder(folder.string(), progress), std::back_inserter(models));
    std::set<std::string> known;
    std::erase_if(models, [&](const FoundModel& model) { return !known.insert(canonicalPath(model.path)).second; });
    for (FoundModel& model : models)
        model.isDemo = !model.folder.empty() && model.path == (demo / demoModelName).string();
    std::ranges::stable_sort(models, std::greater(), &FoundModel::modified);
    return models;
}

} // namespace secateur
