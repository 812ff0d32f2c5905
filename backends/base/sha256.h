#pragma once

struct evp_md_ctx_st;

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// Computes a SHA-256 digest of bytes that are added one part after another.
class Sha256 {
public:
    Sha256();
    void add(const void* data, std::size_t size);
    void add(std::int64_t number) { add(&number, sizeof number); }
    /// The digest as 64 lower-case hexadecimal digits. Call it once, after all bytes were added.
    std::string hexadecimal();

private:
    std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> m_context;
};

// A seal is the last line of a file. It contains the SHA-256 of all bytes before it. HDF5 1.10 crashes on some damaged
// files, so the seal of a session file is checked before HDF5 opens it. HDF5 ignores bytes after the end of its data,
// and removes them when it writes.

/// The seal for these bytes, to be appended to them.
std::string sealOf(std::string_view bytes);
/// Whether a file ends with a seal. If a session file has none, another program wrote or changed it.
/// @throws Error if the seal does not match the bytes before it
bool isSealed(std::span<const std::byte> file);

} // namespace secateur
