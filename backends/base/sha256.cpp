#include "backends/base/sha256.h"

#include "analysis/base/error.h"
#include "backends/base/mapped_file.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>

namespace secateur {

namespace {

void check(bool succeeded) {
    if (!succeeded)
        throw Error("SHA-256 is not available in this OpenSSL");
}

constexpr std::string_view mark = "\nsecateur sha256:";
constexpr std::size_t sealBytes = mark.size() + 64 + 1;

} // namespace

Sha256::Sha256()
    : m_context(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    check(m_context && EVP_DigestInit_ex(m_context.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::add(const void* data, std::size_t size) {
    check(EVP_DigestUpdate(m_context.get(), data, size) == 1);
}

std::string Sha256::hexadecimal() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    check(EVP_DigestFinal_ex(m_context.get(), digest.data(), &size) == 1);
    std::string text;
    for (unsigned int i = 0; i < size; ++i)
        text += fmt::format("{:02x}", digest[i]);
    return text;
}

std::string sealOf(std::string_view bytes) {
    Sha256 hash;
    hash.add(bytes.data(), bytes.size());
    return std::string(mark) + hash.hexadecimal() + "\n";
}

bool isSealed(std::span<const std::byte> file) {
    const std::string_view bytes = charactersOf(file);
    if (bytes.size() < sealBytes)
        return false;
    const std::string_view line = bytes.substr(bytes.size() - sealBytes);
    if (!line.starts_with(mark))
        return false;
    if (line != sealOf(bytes.substr(0, bytes.size() - sealBytes)))
        throw Error("is damaged: its bytes do not match its checksum", {}, "Copy it again from where it came from");
    return true;
}

} // namespace secateur
