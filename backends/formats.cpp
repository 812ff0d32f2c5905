#include "backends/formats.h"

#include "analysis/error.h"
#include "backends/gguf.h"
#include "backends/safetensors.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

namespace secateur {

namespace fs = std::filesystem;

namespace {

constexpr std::array formats{
    FormatInfo{
        .id = "safetensors",
        .summary = "Hugging Face directory or .safetensors file with its config.json, sharded or not: F32, F16, BF16",
        .extension = ".safetensors",
        .magic = {},
        .directoryFile = "config.json",
        .open = openSafetensors,
    },
    FormatInfo{
        .id = "gguf",
        .summary = "llama.cpp's single file, version 2 or 3: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q6_K",
        .extension = ".gguf",
        .magic = "GGUF",
        .directoryFile = {},
        .open = openGguf,
    },
};

std::string firstBytes(const fs::path& path) {
    constexpr std::streamsize count = 16;
    std::string bytes(static_cast<std::size_t>(count), '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(bytes.data(), count);
    bytes.resize(static_cast<std::size_t>(file.gcount()));
    return bytes;
}

const FormatInfo* formatOfDirectory(const fs::path& path) {
    const auto found = std::ranges::find_if(formats, [&](const FormatInfo& info) {
        return !info.directoryFile.empty() && fs::exists(path / info.directoryFile);
    });
    return found == formats.end() ? nullptr : &*found;
}

const FormatInfo* formatOfFile(const fs::path& path) {
    if (fs::is_regular_file(path)) {
        const std::string bytes = firstBytes(path);
        const auto byMagic = std::ranges::find_if(
            formats, [&](const FormatInfo& info) { return !info.magic.empty() && bytes.starts_with(info.magic); });
        if (byMagic != formats.end())
            return &*byMagic;
    }
    const auto byExtension = std::ranges::find(formats, path.extension().string(), &FormatInfo::extension);
    return byExtension == formats.end() ? nullptr : &*byExtension;
}

} // namespace

std::span<const FormatInfo> allFormats() {
    return formats;
}

const FormatInfo& formatOf(const std::string& path) {
    std::error_code failure;
    const fs::file_status status = fs::status(path, failure);
    if (!fs::exists(status))
        throw Error(failure && failure != std::errc::no_such_file_or_directory ? failure.message() : "does not exist",
                    path);
    const bool isDirectory = fs::is_directory(status);
    const FormatInfo* format = isDirectory ? formatOfDirectory(path) : formatOfFile(path);
    if (format)
        return *format;
    throw Error(isDirectory ? "has no config.json" : "is not a checkpoint that can be read", path,
                "Open a Hugging Face directory, a .safetensors file beside its config.json, or a .gguf file");
}

} // namespace secateur
