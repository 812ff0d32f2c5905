#pragma once

struct evp_md_ctx_st;

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// SHA-256 of bytes as they come.
class Sha256 {
public:
    Sha256();
    void add(const void* data, std::size_t size);
    void add(std::int64_t number) { add(&number, sizeof number); }
    /// 64 lower-case digits of all that was added; call once.
    std::string hexadecimal();

private:
    std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> m_context;
};

// A line at the end of a file with the SHA-256 of all before it. HDF5 1.10 does not survive every damaged file, so a
// session is checked before HDF5 sees it. HDF5 ignores what lies behind its own end, and cuts it off when it writes.

/// The line to put behind these bytes.
std::string sealOf(std::string_view bytes);
/// Whether a file ends with the line; without it, another program wrote or changed it.
/// @throws Error when the line does not fit the bytes before it
bool isSealed(std::span<const std::byte> file);

} // namespace secateur
