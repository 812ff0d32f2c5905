#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

struct evp_md_ctx_st;

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

} // namespace secateur
