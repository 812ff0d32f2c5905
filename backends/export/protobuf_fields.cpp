#include "backends/export/protobuf_fields.h"

#include <bit>

namespace secateur {

namespace {

constexpr int varint = 0;
constexpr int lengthDelimited = 2;
constexpr int fourBytes = 5;

} // namespace

void ProtobufMessage::add(int field, std::int64_t value) {
    tag(field, varint);
    number(static_cast<std::uint64_t>(value));
}

void ProtobufMessage::add(int field, float value) {
    tag(field, fourBytes);
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8)
        m_bytes.push_back(static_cast<char>(bits >> shift & 0xffU));
}

void ProtobufMessage::add(int field, std::string_view text) {
    addBegin(field, text.size());
    m_bytes += text;
}

void ProtobufMessage::addBegin(int field, std::uint64_t bytes) {
    tag(field, lengthDelimited);
    number(bytes);
}

void ProtobufMessage::tag(int field, int wireType) {
    number(static_cast<std::uint64_t>(field) << 3U | static_cast<std::uint64_t>(wireType));
}

/// Writes seven bits in each byte, lowest first; the eighth bit says that more bytes follow.
void ProtobufMessage::number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U)
        m_bytes.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
    m_bytes.push_back(static_cast<char>(value));
}

} // namespace secateur
