#include "backends/formats/gguf_fields.h"

#include <type_traits>
#include <utility>

namespace secateur {

namespace {

using Bytes = std::vector<std::byte>;

void appendBytes(Bytes& target, std::span<const std::byte> bytes) {
    target.insert(target.end(), bytes.begin(), bytes.end());
}

template <typename T>
    requires std::is_arithmetic_v<T>
void appendNumber(Bytes& target, T number) {
    appendBytes(target, std::as_bytes(std::span(&number, 1)));
}

void appendText(Bytes& target, std::string_view text) {
    appendNumber(target, static_cast<std::uint64_t>(text.size()));
    appendBytes(target, std::as_bytes(std::span(text)));
}

Bytes valueOfType(GgufValueType type) {
    Bytes value;
    appendNumber(value, static_cast<std::uint32_t>(type));
    return value;
}

template <typename T>
GgufField scalarField(std::string key, GgufValueType type, T number) {
    Bytes value = valueOfType(type);
    appendNumber(value, number);
    return {std::move(key), std::move(value)};
}

Bytes arrayOfType(GgufValueType type, std::size_t count) {
    Bytes value = valueOfType(GgufValueType::array);
    appendNumber(value, static_cast<std::uint32_t>(type));
    appendNumber(value, static_cast<std::uint64_t>(count));
    return value;
}

template <typename T>
GgufField arrayField(std::string key, GgufValueType type, std::span<const T> numbers) {
    Bytes value = arrayOfType(type, numbers.size());
    appendBytes(value, std::as_bytes(numbers));
    return {std::move(key), std::move(value)};
}

template <typename Text>
GgufField textsField(std::string key, std::span<const Text> texts) {
    Bytes value = arrayOfType(GgufValueType::text, texts.size());
    for (const Text& text : texts)
        appendText(value, text);
    return {std::move(key), std::move(value)};
}

} // namespace

GgufField fieldOf(std::string key, std::string_view text) {
    Bytes value = valueOfType(GgufValueType::text);
    appendText(value, text);
    return {std::move(key), std::move(value)};
}

GgufField fieldOf(std::string key, const char* text) {
    return fieldOf(std::move(key), std::string_view(text));
}

GgufField fieldOf(std::string key, bool flag) {
    return scalarField(std::move(key), GgufValueType::boolean, static_cast<std::uint8_t>(flag ? 1 : 0));
}

GgufField fieldOf(std::string key, std::uint32_t number) {
    return scalarField(std::move(key), GgufValueType::u32, number);
}

GgufField fieldOf(std::string key, std::int32_t number) {
    return scalarField(std::move(key), GgufValueType::i32, number);
}

GgufField fieldOf(std::string key, std::uint64_t number) {
    return scalarField(std::move(key), GgufValueType::u64, number);
}

GgufField fieldOf(std::string key, float number) {
    return scalarField(std::move(key), GgufValueType::f32, number);
}

GgufField fieldOf(std::string key, std::span<const std::string> texts) {
    return textsField(std::move(key), texts);
}

GgufField fieldOf(std::string key, std::span<const std::string_view> texts) {
    return textsField(std::move(key), texts);
}

GgufField fieldOf(std::string key, std::span<const std::int32_t> numbers) {
    return arrayField(std::move(key), GgufValueType::i32, numbers);
}

GgufField fieldOf(std::string key, std::span<const std::uint32_t> numbers) {
    return arrayField(std::move(key), GgufValueType::u32, numbers);
}

GgufField fieldOf(std::string key, std::span<const float> numbers) {
    return arrayField(std::move(key), GgufValueType::f32, numbers);
}

GgufField fieldOf(std::string key, std::span<const std::byte> bytes) {
    return arrayField(std::move(key), GgufValueType::u8, bytes);
}

GgufField flagsFieldOf(std::string key, const std::vector<bool>& flags) {
    Bytes value = arrayOfType(GgufValueType::boolean, flags.size());
    for (const bool flag : flags)
        value.push_back(flag ? std::byte{1} : std::byte{0});
    return {std::move(key), std::move(value)};
}

void appendField(std::vector<std::byte>& target, const GgufField& field) {
    appendText(target, field.key);
    appendBytes(target, field.value);
}

} // namespace secateur
