#include "backends/file_seal.h"

#include "analysis/error.h"
#include "backends/sha256.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>
#include <vector>

namespace secateur {

namespace {

constexpr std::string_view mark = "\nsecateur sha256:";
constexpr std::size_t sealBytes = mark.size() + 64 + 1;

[[noreturn]] void failReading() {
    throw Error("cannot be read: " + std::system_category().message(errno));
}

std::string lineFor(Sha256& hash) {
    return std::string(mark) + hash.hexadecimal() + "\n";
}

std::string sealOf(std::ifstream& file, std::uintmax_t bytes) {
    Sha256 hash;
    std::vector<char> block(1 << 16);
    file.seekg(0);
    while (bytes > 0) {
        const std::size_t size = std::min<std::uintmax_t>(bytes, block.size());
        if (!file.read(block.data(), static_cast<std::streamsize>(size)))
            failReading();
        hash.add(block.data(), size);
        bytes -= size;
    }
    return lineFor(hash);
}

/// The line at the end of the file, if it has one.
std::optional<std::string> sealIn(std::ifstream& file, std::uintmax_t bytes) {
    if (bytes < sealBytes)
        return {};
    std::string line(sealBytes, '\0');
    file.seekg(static_cast<std::streamoff>(bytes - sealBytes));
    if (!file.read(line.data(), sealBytes))
        failReading();
    return line.starts_with(mark) ? std::optional(line) : std::nullopt;
}

/// 0 for what has no size, a folder for one: whoever reads it says so better.
std::uintmax_t sizeOf(const std::string& path) {
    std::error_code failure;
    const std::uintmax_t bytes = std::filesystem::file_size(path, failure);
    return failure ? 0 : bytes;
}

} // namespace

std::string sealOf(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes.data(), bytes.size());
    return lineFor(hash);
}

void checkSeal(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::uintmax_t bytes = sizeOf(path);
    const auto found = sealIn(file, bytes);
    if (found && *found != sealOf(file, bytes - sealBytes))
        throw Error("is damaged: its bytes do not fit its checksum", {}, "Copy it again from where it came from");
}

} // namespace secateur
