#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace secateur {

// The encoding of Protocol Buffers, as far as ONNX files need it: a message is a sequence of fields, and a field is its
// number and its value (protobuf.dev/programming-guides/encoding). It is written here and not by libprotobuf, because
// that library holds a whole message in memory, with all weights of the model in it, before it writes the first byte.

/// A message that is being encoded.
class ProtobufMessage {
public:
    void add(int field, std::int64_t value);
    void add(int field, float value);
    void add(int field, std::string_view text);
    void add(int field, const ProtobufMessage& message) { add(field, std::string_view(message.m_bytes)); }
    /// Adds number and length of a field whose bytes are written later.
    void addBegin(int field, std::uint64_t bytes);

    const std::string& bytes() const { return m_bytes; }

private:
    void number(std::uint64_t value);
    void tag(int field, int wireType);

    std::string m_bytes;
};

} // namespace secateur
