#pragma once

struct evp_md_ctx_st;

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// Incremental SHA-256.
class Sha256 {
public:
    Sha256();
    void add(const void* data, std::size_t size);
    void add(std::int64_t number) { add(&number, sizeof number); }
    /// 64 lower-case hexadecimal digits; call once, at the end.
    std::string hexadecimal();

private:
    std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> m_context;
};

// A seal is the last line of a file, with the SHA-256 of all bytes before it. HDF5 1.10 crashes on some damaged files,
// so the seal of a session file is checked before HDF5 opens the file. HDF5 ignores bytes after the end of its data,
// and removes them when it writes.

/// The seal to append to these bytes.
std::string sealOf(std::string_view bytes);
/// Whether a file ends with a seal. A session file without one was written or changed by another program.
/// @throws Error if the seal does not match the bytes before it
bool isSealed(std::span<const std::byte> file);

} // namespace secateur
