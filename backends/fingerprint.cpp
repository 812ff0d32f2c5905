#include "backends/fingerprint.h"

#include "analysis/error.h"

#include <openssl/evp.h>

#include <fmt/format.h>

#include <array>
#include <memory>

namespace secateur {

namespace {

class Sha256 {
public:
    Sha256()
        : m_context(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
        check(m_context && EVP_DigestInit_ex(m_context.get(), EVP_sha256(), nullptr) == 1);
    }

    void add(const void* data, std::size_t size) { check(EVP_DigestUpdate(m_context.get(), data, size) == 1); }
    void add(std::int64_t number) { add(&number, sizeof number); }

    std::string hexadecimal() {
        std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
        unsigned int size = 0;
        check(EVP_DigestFinal_ex(m_context.get(), digest.data(), &size) == 1);
        std::string text;
        for (unsigned int i = 0; i < size; ++i)
            text += fmt::format("{:02x}", digest[i]);
        return text;
    }

private:
    static void check(bool succeeded) {
        if (!succeeded)
            throw Error("SHA-256 is not available in this OpenSSL");
    }

    std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> m_context;
};

void addSample(Sha256& hash, std::span<const std::byte> data) {
    constexpr std::size_t pieces = 16;
    constexpr std::size_t pieceBytes = 256;
    if (data.size() <= pieces * pieceBytes) {
        hash.add(data.data(), data.size());
        return;
    }
    const std::size_t last = data.size() - pieceBytes;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
        // last * piece / (pieces - 1), without leaving 64 bits
        const std::size_t start = last / (pieces - 1) * piece + last % (pieces - 1) * piece / (pieces - 1);
        hash.add(data.data() + start, pieceBytes);
    }
}

} // namespace

std::string fingerprintOf(const Checkpoint& checkpoint) {
    Sha256 hash;
    for (const TensorEntry& entry : checkpoint.tensors()) {
        hash.add(entry.name.c_str(), entry.name.size() + 1);
        hash.add(static_cast<std::int64_t>(entry.shape.size()));
        for (const std::int64_t size : entry.shape)
            hash.add(size);
        addSample(hash, entry.data);
    }
    return "sha256:" + hash.hexadecimal();
}

} // namespace secateur
