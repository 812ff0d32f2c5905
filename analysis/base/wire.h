#pragma once

#include "analysis/base/error.h"
#include "analysis/base/fields.h"
#include "analysis/base/matrix.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace secateur {

struct ModelSpec;

// Values as bytes for the other side of a connection. Numbers are little-endian. What is read is checked: lengths by
// the bytes that are left, truth values and enumerators by what the type knows. Values of a model are checked by its
// spec. The form of a type is its specialisation of Wire; an aggregate's is that of its fields, in order.

static_assert(std::endian::native == std::endian::little, "the bytes on the wire are those in memory");

template <typename Value>
struct Wire;

/// Writes values as bytes.
class WireWriter {
public:
    template <typename Value>
    void put(const Value& value) {
        Wire<Value>::write(*this, value);
    }
    void putBytes(const void* begin, std::size_t count) { m_bytes.append(static_cast<const char*>(begin), count); }
    [[gnu::noinline]] std::string take() { return std::move(m_bytes); } // inlined, GCC 12 warns of its bug 105329

private:
    std::string m_bytes;
};

/// Reads what a WireWriter has put, in the same order. Every function throws Error for bytes that are not such.
class WireReader {
public:
    /// @param bytes must outlive this object @param spec of the model to which masks and results belong; null = none
    explicit WireReader(std::string_view bytes, const ModelSpec* spec = nullptr)
        : m_bytes(bytes)
        , m_spec(spec) {}

    template <typename Value>
    Value get() {
        return Wire<Value>::read(*this);
    }
    template <typename Value>
    void get(Value& value) {
        value = Wire<Value>::read(*this);
    }

    std::string_view bytes(std::size_t count) {
        if (count > m_bytes.size())
            throw Error("A message ends too early");
        const std::string_view found = m_bytes.substr(0, count);
        m_bytes.remove_prefix(count);
        return found;
    }
    /// The length of a list. Each of its elements takes at least `least` bytes.
    std::size_t count(std::size_t least = 1) {
        const auto found = get<std::size_t>();
        if (found > m_bytes.size() / least)
            throw Error("A message states a length beyond its end");
        return found;
    }
    /// Checks that nothing is left.
    void finish() const {
        if (!m_bytes.empty())
            throw Error("A message is longer than its content");
    }
    /// The spec of the model. @throws Error if there is none
    const ModelSpec& spec() const {
        if (!m_spec)
            throw Error("A message is about a model, but no model is open");
        return *m_spec;
    }

    /// Counts nested values while it lives. A message cannot exhaust the stack.
    class Nested {
    public:
        explicit Nested(WireReader& reader)
            : m_depth(reader.m_depth) {
            if (++m_depth > mostDepth)
                throw Error("A message is nested too deeply");
        }
        ~Nested() { --m_depth; }
        Nested(const Nested&) = delete;
        Nested& operator=(const Nested&) = delete;

    private:
        static constexpr int mostDepth = 32;
        int& m_depth;
    };

private:
    std::string_view m_bytes;
    const ModelSpec* m_spec;
    int m_depth = 0;
};

/// Whether an enumeration has a name for a value: the compiler then writes the name, otherwise a number in brackets.
template <auto Value>
constexpr bool isEnumerator() {
    return std::string_view(__PRETTY_FUNCTION__).find("Value = (") == std::string_view::npos;
}

/// The number of enumerators, which count from 0 without gaps.
template <typename Enumeration, std::size_t From = 0>
constexpr std::size_t enumeratorCount() {
    if constexpr (!isEnumerator<static_cast<Enumeration>(From)>())
        return From;
    else
        return enumeratorCount<Enumeration, From + 1>();
}

/// Numbers, truth values, enumerations and aggregates.
template <typename Value>
struct Wire {
    static void write(WireWriter& writer, const Value& value) {
        if constexpr (std::is_arithmetic_v<Value> || std::is_enum_v<Value>)
            writer.putBytes(&value, sizeof(Value));
        else
            std::apply([&writer](const auto&... field) { (writer.put(field), ...); }, fieldsOf(value));
    }
    static Value read(WireReader& reader) {
        if constexpr (std::is_same_v<Value, bool>) {
            return readChecked<unsigned char>(reader, 2) != 0;
        } else if constexpr (std::is_enum_v<Value>) {
            return static_cast<Value>(readChecked<std::underlying_type_t<Value>>(reader, enumeratorCount<Value>()));
        } else if constexpr (std::is_arithmetic_v<Value>) {
            return readNumber<Value>(reader);
        } else {
            const WireReader::Nested nested(reader);
            Value value{};
            std::apply([&reader](auto&... field) { (reader.get(field), ...); }, fieldsOf(value));
            return value;
        }
    }

private:
    template <typename Number>
    static Number readNumber(WireReader& reader) {
        Number number{};
        std::memcpy(&number, reader.bytes(sizeof(Number)).data(), sizeof(Number));
        return number;
    }
    template <typename Number>
    static Number readChecked(WireReader& reader, std::size_t kinds) {
        const auto number = readNumber<Number>(reader);
        if (number < 0 || static_cast<std::size_t>(number) >= kinds)
            throw Error("A message has an unknown value of an enumeration");
        return number;
    }
};

template <>
struct Wire<std::string> {
    static void write(WireWriter& writer, const std::string& text) {
        writer.put(text.size());
        writer.putBytes(text.data(), text.size());
    }
    static std::string read(WireReader& reader) { return std::string(reader.bytes(reader.count())); }
};

template <typename Value>
struct Wire<std::vector<Value>> {
    /// Numbers are copied as a block.
    static constexpr bool isBlock = std::is_arithmetic_v<Value> && !std::is_same_v<Value, bool>;

    static void write(WireWriter& writer, const std::vector<Value>& values) {
        writer.put(values.size());
        if constexpr (isBlock)
            writer.putBytes(values.data(), values.size() * sizeof(Value));
        else
            for (const auto& value : values)
                writer.put<Value>(value);
    }
    static std::vector<Value> read(WireReader& reader) {
        std::vector<Value> values;
        if constexpr (isBlock) {
            const std::size_t count = reader.count(sizeof(Value));
            values.resize(count);
            if (count > 0)
                std::memcpy(values.data(), reader.bytes(count * sizeof(Value)).data(), count * sizeof(Value));
        } else {
            const WireReader::Nested nested(reader);
            for (std::size_t left = reader.count(); left > 0; --left)
                values.push_back(reader.get<Value>());
        }
        return values;
    }
};

template <typename Value, std::size_t Size>
struct Wire<std::array<Value, Size>> {
    static void write(WireWriter& writer, const std::array<Value, Size>& values) {
        for (const Value& value : values)
            writer.put(value);
    }
    static std::array<Value, Size> read(WireReader& reader) {
        std::array<Value, Size> values{};
        for (Value& value : values)
            reader.get(value);
        return values;
    }
};

template <typename First, typename Second>
struct Wire<std::pair<First, Second>> {
    static void write(WireWriter& writer, const std::pair<First, Second>& value) {
        writer.put(value.first);
        writer.put(value.second);
    }
    static std::pair<First, Second> read(WireReader& reader) {
        auto first = reader.get<First>();
        return {std::move(first), reader.get<Second>()};
    }
};

template <typename Key, typename Value>
struct Wire<std::map<Key, Value>> {
    static void write(WireWriter& writer, const std::map<Key, Value>& values) {
        writer.put(values.size());
        for (const auto& [key, value] : values) {
            writer.put(key);
            writer.put(value);
        }
    }
    static std::map<Key, Value> read(WireReader& reader) {
        std::map<Key, Value> values;
        for (std::size_t left = reader.count(); left > 0; --left) {
            auto key = reader.get<Key>();
            values.insert_or_assign(std::move(key), reader.get<Value>());
        }
        return values;
    }
};

template <typename Value>
struct Wire<std::optional<Value>> {
    static void write(WireWriter& writer, const std::optional<Value>& value) {
        writer.put(value.has_value());
        if (value)
            writer.put(*value);
    }
    static std::optional<Value> read(WireReader& reader) {
        return reader.get<bool>() ? std::optional<Value>(reader.get<Value>()) : std::nullopt;
    }
};

template <typename Value>
struct Wire<std::shared_ptr<const Value>> {
    static void write(WireWriter& writer, const std::shared_ptr<const Value>& value) {
        writer.put(value != nullptr);
        if (value)
            writer.put(*value);
    }
    static std::shared_ptr<const Value> read(WireReader& reader) {
        return reader.get<bool>() ? std::make_shared<const Value>(reader.get<Value>()) : nullptr;
    }
};

/// Functions stay where they are.
template <typename Signature>
struct Wire<std::function<Signature>> {
    static void write(WireWriter& /*writer*/, const std::function<Signature>& /*value*/) {}
    static std::function<Signature> read(WireReader& /*reader*/) { return {}; }
};

template <>
struct Wire<Matrix> {
    static void write(WireWriter& writer, const Matrix& matrix) {
        writer.put(matrix.rows());
        writer.put(matrix.columns());
        writer.putBytes(matrix.values().data(), matrix.values().size_bytes());
    }
    static Matrix read(WireReader& reader) {
        const auto rows = reader.get<std::size_t>();
        const auto columns = reader.get<std::size_t>();
        if (columns > 0 && rows > std::numeric_limits<std::size_t>::max() / sizeof(double) / columns)
            throw Error("A message states a length beyond its end");
        const std::string_view bytes = reader.bytes(rows * columns * sizeof(double));
        Matrix matrix(bytes.empty() ? 0 : rows, bytes.empty() ? 0 : columns);
        if (!bytes.empty())
            std::memcpy(matrix.values().data(), bytes.data(), bytes.size());
        return matrix;
    }
};

/// A value as bytes.
template <typename... Values>
std::string wireBytes(const Values&... values) {
    WireWriter writer;
    (writer.put(values), ...);
    return writer.take();
}

/// The value that the bytes hold, and nothing else. @throws Error as WireReader
template <typename Value>
Value fromWire(std::string_view bytes, const ModelSpec* spec = nullptr) {
    WireReader reader(bytes, spec);
    auto value = reader.get<Value>();
    reader.finish();
    return value;
}

} // namespace secateur
