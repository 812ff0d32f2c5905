#include "backends/base/byte_reader.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <cstring>

namespace secateur {

namespace {

template <typename T>
T load(const std::byte* source) {
    T value{};
    std::memcpy(&value, source, sizeof value);
    return value;
}

} // namespace

std::span<const std::byte> ByteReader::take(std::uint64_t count, std::string_view what) {
    if (count > left())
        throw Error(fmt::format("ends inside {}: {} bytes are needed, {} are left", what, count, left()), m_subject,
                    "The file is cut short or damaged");
    const auto taken = m_bytes.subspan(m_position, static_cast<std::size_t>(count));
    m_position += taken.size();
    return taken;
}

std::uint8_t ByteReader::u8(std::string_view what) {
    return load<std::uint8_t>(take(1, what).data());
}

std::uint16_t ByteReader::u16(std::string_view what) {
    return load<std::uint16_t>(take(2, what).data());
}

std::uint32_t ByteReader::u32(std::string_view what) {
    return load<std::uint32_t>(take(4, what).data());
}

std::uint64_t ByteReader::u64(std::string_view what) {
    return load<std::uint64_t>(take(8, what).data());
}

std::string_view ByteReader::text(std::string_view what) {
    const auto bytes = take(u64(what), what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

} // namespace secateur
