#pragma once

#include "backends/base/mapped_file.h"
#include "backends/formats/gguf_fields.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The metadata of a GGUF file, as keys and values. Values stay in the mapped file and are decoded on request.
class GgufMetadata {
public:
    /// Reads `count` keys and values, and checks every length. @throws Error
    GgufMetadata(ByteReader& reader, std::uint64_t count, std::string subject);

    const std::string& subject() const { return m_subject; }
    bool has(const std::string& key) const { return m_values.contains(key); }
    std::vector<std::string> keys() const; ///< sorted

    // The getters return nothing if the key is absent.
    // @throws Error naming the key if its value has another type or is out of range

    std::optional<std::string> text(const std::string& key) const;
    std::optional<double> number(const std::string& key) const;
    std::optional<std::int64_t> integer(const std::string& key, std::int64_t least, std::int64_t most) const;
    /// An array of `count` whole numbers. A single number counts as `count` equal numbers. @throws Error if the array
    /// has another length
    std::optional<std::vector<std::int64_t>> integers(const std::string& key, std::size_t count, std::int64_t least,
                                                      std::int64_t most) const;
    std::optional<bool> flag(const std::string& key) const;
    /// The elements of an array of texts, as views of the mapped file.
    std::optional<std::vector<std::string_view>> texts(const std::string& key) const;
    std::optional<std::vector<float>> numbers(const std::string& key) const;
    std::optional<std::vector<std::int64_t>> integers(const std::string& key, std::int64_t least,
                                                      std::int64_t most) const;
    std::optional<std::span<const std::byte>> bytes(const std::string& key) const;
    /// Number of elements of an array.
    std::optional<std::uint64_t> arrayLength(const std::string& key) const;

    /// The field of an existing key, as it lies in the file.
    GgufField field(const std::string& key) const;

    /// Reports an invalid value. @throws Error always, naming the key
    [[noreturn]] void refuse(const std::string& key, const std::string& message) const;

private:
    struct Value {
        std::uint32_t type = 0;
        std::uint32_t elementType = 0;    ///< type of an array's elements
        std::uint64_t count = 0;          ///< number of an array's elements
        std::span<const std::byte> bytes; ///< bytes of a scalar, of a text, or of an array's elements
    };
    Value readValue(ByteReader& reader, const std::string& key) const;
    const Value* find(const std::string& key) const;
    /// The array with this key; null if the key is absent. @throws Error if the value is not an array of this type
    const Value* findArray(const std::string& key, std::uint32_t elementType, const char* what) const;
    std::int64_t integerAt(const std::string& key, std::uint32_t type, const std::byte* source, std::int64_t least,
                           std::int64_t most) const;

    std::map<std::string, Value> m_values;
    std::string m_subject;
};

} // namespace secateur
