#pragma once

#include "backends/base/mapped_file.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The key-value pairs of a GGUF file. Values stay in the mapping and are decoded on request.
class GgufMetadata {
public:
    /// Reads `count` pairs, and checks every length. @throws Error
    GgufMetadata(ByteReader& reader, std::uint64_t count, std::string subject);

    const std::string& subject() const { return m_subject; }
    bool has(const std::string& key) const { return m_values.contains(key); }
    std::vector<std::string> keys() const; ///< sorted

    // The getters return nothing if the key is absent.
    // @throws Error naming the key if the value has another type or range

    std::optional<std::string> text(const std::string& key) const;
    std::optional<double> number(const std::string& key) const;
    std::optional<std::int64_t> integer(const std::string& key, std::int64_t least, std::int64_t most) const;
    /// An array of `count` whole numbers; a single number stands for `count` equal ones. @throws Error if the array has
    /// another length
    std::optional<std::vector<std::int64_t>> integers(const std::string& key, std::size_t count, std::int64_t least,
                                                      std::int64_t most) const;
    std::optional<bool> flag(const std::string& key) const;
    /// The elements of an array, as views of the mapping.
    std::optional<std::vector<std::string_view>> texts(const std::string& key) const;
    std::optional<std::vector<float>> numbers(const std::string& key) const;
    std::optional<std::vector<std::int64_t>> integers(const std::string& key, std::int64_t least,
                                                      std::int64_t most) const;
    std::optional<std::span<const std::byte>> bytes(const std::string& key) const;
    /// Number of elements of an array.
    std::optional<std::uint64_t> arrayLength(const std::string& key) const;

    /// @throws Error that names this key
    [[noreturn]] void refuse(const std::string& key, const std::string& message) const;

private:
    struct Value {
        std::uint32_t type = 0;
        std::uint32_t elementType = 0;    ///< of an array
        std::uint64_t count = 0;          ///< of an array
        std::span<const std::byte> bytes; ///< of a scalar, a text or an array's elements
    };
    Value readValue(ByteReader& reader, const std::string& key) const;
    const Value* find(const std::string& key) const;
    /// nullptr if the key is absent. @throws Error if it is not an array of that type
    const Value* findArray(const std::string& key, std::uint32_t elementType, const char* what) const;
    std::int64_t integerAt(const std::string& key, std::uint32_t type, const std::byte* source, std::int64_t least,
                           std::int64_t most) const;

    std::map<std::string, Value> m_values;
    std::string m_subject;
};

} // namespace secateur
