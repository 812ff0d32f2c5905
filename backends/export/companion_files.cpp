#include "backends/export/companion_files.h"

#include "backends/base/atomic_file.h"
#include "backends/base/mapped_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t mostCompanionBytes = 64'000'000; ///< the largest tokenizers take about half

/// Endings of weights, optimiser states and graphs of the dense model, which are left out of an export.
constexpr std::array<std::string_view, 18> weightEndings{
    ".safetensors", ".bin",  ".pt",  ".pth", ".gguf",   ".h5",       ".msgpack", ".onnx", ".onnx_data",
    ".ot",          ".ckpt", ".npz", ".zip", ".tflite", ".mlmodelc", ".data",    ".ggml", ".index.json"};

bool isCompanion(const fs::directory_entry& item) {
    const std::string name = item.path().filename().string();
    const bool isWeight =
        std::ranges::any_of(weightEndings, [&](std::string_view ending) { return name.ends_with(ending); });
    std::error_code failure;
    return !isWeight && !name.starts_with('.') && item.is_regular_file(failure) &&
           item.file_size(failure) <= mostCompanionBytes && !failure;
}

/// Whether a path, both without links, is below a folder.
bool isBelow(const fs::path& path, const fs::path& folder) {
    return std::ranges::mismatch(folder, path).in1 == folder.end();
}

/// The folder REPOSITORY/blobs for REPOSITORY/snapshots/COMMIT, where links of Hugging Face's cache lead.
std::optional<fs::path> blobsOf(const fs::path& snapshot) {
    const fs::path snapshots = snapshot.parent_path();
    const fs::path repository = snapshots.parent_path();
    if (snapshots.filename() != "snapshots" || !repository.filename().string().starts_with("models--"))
        return std::nullopt;
    return repository / "blobs";
}

/// The path of a file of a directory with links followed; nothing if there is no such file, or if it lies elsewhere.
std::optional<fs::path> ownFile(const fs::path& folder, const std::string& name) {
    std::error_code failure;
    const fs::path real = fs::canonical(folder / name, failure);
    const fs::path root = failure ? fs::path() : fs::canonical(folder, failure);
    if (failure)
        return std::nullopt;
    const std::optional<fs::path> blobs = blobsOf(root);
    const bool isOwn = isBelow(real, root) || (blobs && isBelow(real, *blobs));
    return isOwn ? std::optional(real) : std::nullopt;
}

} // namespace

std::string modelFolder(const std::string& path) {
    if (fs::is_directory(path))
        return path;
    const std::string parent = fs::path(path).parent_path().string();
    return parent.empty() ? "." : parent;
}

CompanionFiles companionFiles(const std::string& folder, const std::set<std::string>& taken) {
    CompanionFiles files;
    for (const fs::directory_entry& item : fs::directory_iterator(folder)) {
        const std::string name = item.path().filename().string();
        if (isUnfinished(name))
            continue; // a temporary file of some writer
        const bool isWanted = isCompanion(item);
        const bool isOwn = isWanted && ownFile(folder, name);
        if (!taken.contains(name))
            (isOwn ? files.copied : files.leftOut).push_back(name);
        if (isWanted && !isOwn)
            files.warnings.push_back(fmt::format("{} is not copied: it is a link to {}, outside the model's folder",
                                                 name, fs::read_symlink(item.path()).string()));
    }
    for (std::vector<std::string>* list : {&files.copied, &files.leftOut, &files.warnings})
        std::ranges::sort(*list);
    return files;
}

std::string companionContent(const std::string& folder, const std::string& name) {
    const std::optional<fs::path> file = ownFile(folder, name);
    std::error_code failure;
    if (!file || !fs::is_regular_file(*file, failure) || fs::file_size(*file, failure) == 0 || failure)
        return {};
    const auto mapped = MappedFile::open(file->string());
    std::string content(charactersOf(mapped->bytes()));
    mapped->checkWhole();
    return content;
}

} // namespace secateur
