#include "backends/base/file_seal.h"

#include "analysis/base/error.h"
#include "backends/base/sha256.h"

namespace secateur {

namespace {

constexpr std::string_view mark = "\nsecateur sha256:";
constexpr std::size_t sealBytes = mark.size() + 64 + 1;

} // namespace

std::string sealOf(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes.data(), bytes.size());
    return std::string(mark) + hash.hexadecimal() + "\n";
}

bool isSealed(std::span<const std::byte> file) {
    const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
    if (bytes.size() < sealBytes)
        return false;
    const std::string_view line = bytes.substr(bytes.size() - sealBytes);
    if (!line.starts_with(mark))
        return false;
    if (line != sealOf(bytes.substr(0, bytes.size() - sealBytes)))
        throw Error("is damaged: its bytes do not fit its checksum", {}, "Copy it again from where it came from");
    return true;
}

} // namespace secateur
