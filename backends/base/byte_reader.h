#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// Walks the little-endian bytes of a file of unknown origin; every read is checked against what is left.
class ByteReader {
public:
    ByteReader(std::span<const std::byte> bytes, std::string subject)
        : m_bytes(bytes)
        , m_subject(std::move(subject)) {}

    std::size_t position() const { return m_position; }
    std::size_t left() const { return m_bytes.size() - m_position; }
    /// @throws Error "... ends inside WHAT"
    std::span<const std::byte> take(std::uint64_t count, std::string_view what);
    std::uint8_t u8(std::string_view what);
    std::uint16_t u16(std::string_view what);
    std::uint32_t u32(std::string_view what);
    std::uint64_t u64(std::string_view what);
    /// A length of 64 bits and as many bytes.
    std::string_view text(std::string_view what);

private:
    std::span<const std::byte> m_bytes;
    std::size_t m_position = 0;
    std::string m_subject;
};

} // namespace secateur
