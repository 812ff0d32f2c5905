#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The types of metadata values, with their numbers in GGUF files.
enum class GgufValueType : std::uint32_t {
    u8,
    i8,
    u16,
    i16,
    u32,
    i32,
    f32,
    boolean,
    text,
    array,
    u64,
    i64,
    f64,
};

/// A key of a GGUF file and its value.
struct GgufField {
    std::string key;
    std::vector<std::byte> value; ///< number of the type (32 bits) and content, exactly as in the file
};

// Makes fields. The type of the argument is the type in the file: an int becomes i32, a std::uint32_t u32, a
// std::uint64_t u64. Bytes of texts are not changed; keys and texts are not checked.

GgufField fieldOf(std::string key, std::string_view text);
GgufField fieldOf(std::string key, const char* text);
GgufField fieldOf(std::string key, bool flag);
GgufField fieldOf(std::string key, std::uint32_t number);
GgufField fieldOf(std::string key, std::int32_t number);
GgufField fieldOf(std::string key, std::uint64_t number);
GgufField fieldOf(std::string key, float number);
// Arrays. They may be empty.
GgufField fieldOf(std::string key, std::span<const std::string> texts);
GgufField fieldOf(std::string key, std::span<const std::string_view> texts);
GgufField fieldOf(std::string key, std::span<const std::int32_t> numbers);
GgufField fieldOf(std::string key, std::span<const std::uint32_t> numbers);
GgufField fieldOf(std::string key, std::span<const float> numbers);
GgufField fieldOf(std::string key, std::span<const std::byte> bytes); ///< an array of u8
/// An array of flags (bool). It has a name of its own because std::vector<bool> is not a span.
GgufField flagsFieldOf(std::string key, const std::vector<bool>& flags);

/// Appends a field as it lies in a file: length of the key (64 bits), key, value.
void appendField(std::vector<std::byte>& target, const GgufField& field);

} // namespace secateur
