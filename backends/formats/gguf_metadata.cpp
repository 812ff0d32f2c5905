#include "backends/formats/gguf_metadata.h"

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>

namespace secateur {

namespace {

constexpr std::uint64_t longestMetadataKey = 65535; // limit in the specification of GGUF
constexpr int deepestArray = 4;

enum ValueType : std::uint32_t { u8, i8, u16, i16, u32Type, i32, f32, boolType, string, array, u64Type, i64, f64 };

/// Size in bytes of a scalar type; 0 for texts, arrays and unknown types.
std::size_t scalarBytes(std::uint32_t type) {
    static constexpr std::array<std::size_t, 13> sizes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    return type < sizes.size() ? sizes[type] : 0;
}

template <typename T>
T loadValue(const std::byte* source) {
    T value{};
    std::memcpy(&value, source, sizeof value);
    return value;
}

/// Skips `count` values of a type. @param depth nesting depth of arrays @throws Error
void skip(ByteReader& reader, std::uint32_t type, std::uint64_t count, const std::string& what, int depth,
          const std::string& subject) {
    if (const std::size_t bytes = scalarBytes(type); bytes > 0) {
        // A product that overflows means a count larger than any file.
        const bool fits = count <= std::numeric_limits<std::uint64_t>::max() / bytes;
        reader.take(fits ? count * bytes : std::numeric_limits<std::uint64_t>::max(), what);
    } else if (type == string) {
        for (std::uint64_t i = 0; i < count; ++i)
            reader.text(what);
    } else if (type == array) {
        if (depth == deepestArray)
            throw Error(fmt::format("nests arrays deeper than {} levels", deepestArray), subject + ": " + what);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint32_t elementType = reader.u32(what);
            skip(reader, elementType, reader.u64(what), what, depth + 1, subject);
        }
    } else {
        throw Error(fmt::format("has a value of the unknown type {}", type), subject + ": " + what);
    }
}

} // namespace

GgufMetadata::GgufMetadata(ByteReader& reader, std::uint64_t count, std::string subject)
    : m_subject(std::move(subject)) {
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string_view key = reader.text(fmt::format("metadata key {}", i));
        if (key.empty() || key.size() > longestMetadataKey)
            throw Error(fmt::format("has a metadata key of {} bytes", key.size()), m_subject);
        const std::string name(key);
        const Value value = readValue(reader, name);
        if (!m_values.emplace(name, value).second)
            refuse(name, "appears twice");
    }
}

GgufMetadata::Value GgufMetadata::readValue(ByteReader& reader, const std::string& key) const {
    Value value;
    value.type = reader.u32(key);
    value.count = 1;
    if (value.type == array) {
        value.elementType = reader.u32(key);
        value.count = reader.u64(key);
    }
    ByteReader start = reader;
    skip(reader, value.type == array ? value.elementType : value.type, value.count, key, 1, m_subject);
    value.bytes = start.take(reader.position() - start.position(), key);
    return value;
}

std::vector<std::string> GgufMetadata::keys() const {
    std::vector<std::string> keys;
    for (const auto& [key, value] : m_values)
        keys.push_back(key);
    return keys;
}

void GgufMetadata::refuse(const std::string& key, const std::string& message) const {
    throw Error(message, m_subject + ": " + key);
}

const GgufMetadata::Value* GgufMetadata::find(const std::string& key) const {
    const auto found = m_values.find(key);
    return found == m_values.end() ? nullptr : &found->second;
}

std::optional<std::string> GgufMetadata::text(const std::string& key) const {
    const Value* value = find(key);
    if (!value)
        return std::nullopt;
    if (value->type != string)
        refuse(key, "expected text");
    constexpr std::size_t lengthBytes = 8;
    return std::string(charactersOf(value->bytes.subspan(lengthBytes)));
}

std::optional<double> GgufMetadata::number(const std::string& key) const {
    const Value* value = find(key);
    if (!value)
        return std::nullopt;
    if (value->type == f32)
        return static_cast<double>(loadValue<float>(value->bytes.data()));
    if (value->type == f64)
        return loadValue<double>(value->bytes.data());
    refuse(key, "expected a floating point number");
}

std::int64_t GgufMetadata::integerAt(const std::string& key, std::uint32_t type, const std::byte* source,
                                     std::int64_t least, std::int64_t most) const {
    const auto read = [&]() -> std::optional<std::int64_t> {
        switch (type) {
        case u8:
            return loadValue<std::uint8_t>(source);
        case i8:
            return loadValue<std::int8_t>(source);
        case u16:
            return loadValue<std::uint16_t>(source);
        case i16:
            return loadValue<std::int16_t>(source);
        case u32Type:
            return loadValue<std::uint32_t>(source);
        case i32:
            return loadValue<std::int32_t>(source);
        case u64Type:
            // A number that int64 cannot represent becomes negative. No caller accepts negative numbers.
            return static_cast<std::int64_t>(loadValue<std::uint64_t>(source));
        case i64:
            return loadValue<std::int64_t>(source);
        default:
            return std::nullopt;
        }
    };
    const auto number = read();
    if (!number || *number < least || *number > most)
        refuse(key, fmt::format("expected a whole number from {} to {}, found {}", least, most,
                                number ? std::to_string(*number) : "a value of another type"));
    return *number;
}

std::optional<std::int64_t> GgufMetadata::integer(const std::string& key, std::int64_t least, std::int64_t most) const {
    const Value* value = find(key);
    if (!value)
        return std::nullopt;
    return integerAt(key, value->type, value->bytes.data(), least, most);
}

std::optional<std::vector<std::int64_t>> GgufMetadata::integers(const std::string& key, std::size_t count,
                                                                std::int64_t least, std::int64_t most) const {
    const Value* value = find(key);
    if (!value)
        return std::nullopt;
    if (value->type != array)
        return std::vector(count, integerAt(key, value->type, value->bytes.data(), least, most));
    if (value->count != count)
        refuse(key, fmt::format("expected {} values, one per layer, found {}", count, value->count));
    std::vector<std::int64_t> numbers;
    const std::size_t bytes = scalarBytes(value->elementType);
    for (std::size_t i = 0; i < count; ++i)
        numbers.push_back(integerAt(key, value->elementType, value->bytes.data() + i * bytes, least, most));
    return numbers;
}

std::optional<std::uint64_t> GgufMetadata::arrayLength(const std::string& key) const {
    const Value* value = find(key);
    if (!value)
        return std::nullopt;
    if (value->type != array)
        refuse(key, "expected an array");
    return value->count;
}

std::optional<bool> GgufMetadata::flag(const std::string& key) const {
    const Value* value = find(key);
    if (!value)
        return std::nullopt;
    if (value->type != boolType)
        refuse(key, "expected true or false");
    return loadValue<std::uint8_t>(value->bytes.data()) != 0;
}

const GgufMetadata::Value* GgufMetadata::findArray(const std::string& key, std::uint32_t elementType,
                                                   const char* what) const {
    const Value* value = find(key);
    if (value && (value->type != array || value->elementType != elementType))
        refuse(key, fmt::format("expected a list of {}", what));
    return value;
}

std::optional<std::vector<std::string_view>> GgufMetadata::texts(const std::string& key) const {
    const Value* value = findArray(key, string, "texts");
    if (!value)
        return std::nullopt;
    std::vector<std::string_view> texts;
    texts.reserve(value->count);
    ByteReader reader(value->bytes, m_subject);
    for (std::uint64_t i = 0; i < value->count; ++i)
        texts.push_back(reader.text(key));
    return texts;
}

std::optional<std::vector<float>> GgufMetadata::numbers(const std::string& key) const {
    const Value* value = findArray(key, f32, "32-bit numbers");
    if (!value)
        return std::nullopt;
    std::vector<float> numbers(value->count);
    if (!numbers.empty())
        std::memcpy(numbers.data(), value->bytes.data(), value->bytes.size());
    return numbers;
}

std::optional<std::vector<std::int64_t>> GgufMetadata::integers(const std::string& key, std::int64_t least,
                                                                std::int64_t most) const {
    const auto count = arrayLength(key);
    // Texts have no fixed size, so integers() cannot read them.
    const Value* value = find(key);
    if (count && scalarBytes(value->elementType) == 0)
        refuse(key, "expected a list of whole numbers");
    return count ? integers(key, *count, least, most) : std::nullopt;
}

std::optional<std::span<const std::byte>> GgufMetadata::bytes(const std::string& key) const {
    const Value* value = find(key);
    if (value && (value->type != array || scalarBytes(value->elementType) != 1))
        refuse(key, "expected a list of bytes");
    return value ? std::optional(value->bytes) : std::nullopt;
}

GgufField GgufMetadata::field(const std::string& key) const {
    const Value& value = m_values.at(key);
    GgufField field{key, {}};
    const auto append = [&field](const auto& number) {
        const auto bytes = std::as_bytes(std::span(&number, 1));
        field.value.insert(field.value.end(), bytes.begin(), bytes.end());
    };
    append(value.type);
    if (value.type == array) {
        append(value.elementType);
        append(value.count);
    }
    field.value.insert(field.value.end(), value.bytes.begin(), value.bytes.end());
    return field;
}

} // namespace secateur
