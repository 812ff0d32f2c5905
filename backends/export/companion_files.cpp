#include "backends/export/companion_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t mostBytes = 64'000'000; ///< the largest tokenizers take about half

/// Weights, optimiser states and graphs: of the dense model, which the export is not.
constexpr std::array<std::string_view, 18> weightEndings{
    ".safetensors", ".bin",  ".pt",  ".pth", ".gguf",   ".h5",       ".msgpack", ".onnx", ".onnx_data",
    ".ot",          ".ckpt", ".npz", ".zip", ".tflite", ".mlmodelc", ".data",    ".ggml", ".index.json"};

bool isCompanion(const fs::directory_entry& item) {
    const std::string name = item.path().filename().string();
    const bool isWeight =
        std::ranges::any_of(weightEndings, [&](std::string_view ending) { return name.ends_with(ending); });
    std::error_code failure;
    return !isWeight && !name.starts_with('.') && item.is_regular_file(failure) &&
           item.file_size(failure) <= mostBytes && !failure;
}

} // namespace

CompanionFiles companionFiles(const std::string& folder, const std::set<std::string>& taken) {
    CompanionFiles files;
    for (const fs::directory_entry& item : fs::directory_iterator(folder)) {
        const std::string name = item.path().filename().string();
        if (!taken.contains(name))
            (isCompanion(item) ? files.copied : files.leftOut).push_back(name);
    }
    std::ranges::sort(files.copied);
    std::ranges::sort(files.leftOut);
    return files;
}

} // namespace secateur
