#include "backends/formats/formats.h"

#include "analysis/base/error.h"
#include "backends/formats/checkpoint.h"
#include "backends/formats/gguf.h"
#include "backends/formats/pytorch.h"
#include "backends/formats/hf_weights.h"

#include <algorithm>
#include <filesystem>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::array formats{
    FormatInfo{
        .id = "safetensors",
        .summary = "Hugging Face directory or .safetensors file with its config.json, sharded or not",
        .extensions = {".safetensors"},
        .recognises = looksLikeSafetensors,
        .holds = [](const std::string& directory) { return holdsWeights(directory, safetensorsWeights); },
        .open = openSafetensors,
    },
    FormatInfo{
        .id = "pytorch",
        .summary =
            "PyTorch state dict (.bin, .pt, .pth) with its config.json, sharded or not; no code in it is executed",
        .extensions = {".bin", ".pt", ".pth"},
        .recognises = looksLikePytorch,
        .holds = [](const std::string& directory) { return holdsWeights(directory, pytorchWeights); },
        .open = openPytorch,
    },
    FormatInfo{
        .id = "gguf",
        .summary = "llama.cpp's GGUF file, version 2 or 3, split or not",
        .extensions = {".gguf"},
        .recognises = [](std::string_view bytes) { return bytes.starts_with("GGUF"); },
        .holds = holdsGguf,
        .open = openGguf,
    },
};

constexpr const char* hint =
    "Open a Hugging Face directory, a .safetensors, .bin, .pt or .pth file beside its config.json, or a .gguf file";

const FormatInfo& formatOfDirectory(const fs::path& path) {
    const auto found = std::ranges::find_if(formats, [&](const FormatInfo& info) { return info.holds(path.string()); });
    if (found != formats.end())
        return *found;
    if (fs::exists(path / "config.json"))
        throw Error("has a config.json, but no weights", path.string(), hint);
    throw Error("has no config.json and no .gguf file", path.string(), hint);
}

const FormatInfo& formatOfFile(const fs::path& path) {
    const auto file = openWeights(path.string());
    const std::string_view bytes = charactersOf(file->bytes());
    const auto byBytes = std::ranges::find_if(formats, [&](const FormatInfo& info) { return info.recognises(bytes); });
    if (byBytes != formats.end())
        return *byBytes;
    const std::string extension = path.extension().string();
    const auto byExtension = std::ranges::find_if(formats, [&](const FormatInfo& info) {
        return !extension.empty() && std::ranges::find(info.extensions, extension) != info.extensions.end();
    });
    if (byExtension != formats.end())
        return *byExtension;
    throw Error("is not a checkpoint in a supported format", path.string(),
                extension == ".json" ? "Open its folder" : hint);
}

} // namespace

std::span<const FormatInfo> allFormats() {
    return formats;
}

std::vector<std::string> modelExtensions() {
    std::vector<std::string> extensions;
    for (const FormatInfo& info : formats) {
        for (const std::string_view extension : info.extensions) {
            if (!extension.empty())
                extensions.emplace_back(extension);
        }
    }
    return extensions;
}

const FormatInfo& formatOf(const std::string& path) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (!fs::exists(status))
        throw Error(failure && failure != std::errc::no_such_file_or_directory ? failure.message() : "does not exist",
                    path);
    return fs::is_directory(status) ? formatOfDirectory(path) : formatOfFile(path);
}

} // namespace secateur
