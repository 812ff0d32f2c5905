#pragma once

#include "analysis/base/error.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace secateur {

/// Values one after another as bytes of this machine, for other processes of the same program.
class Packer {
public:
    template <typename Value>
    void put(const Value& value) {
        static_assert(std::is_trivially_copyable_v<Value>);
        m_bytes.append(reinterpret_cast<const char*>(&value), sizeof(Value));
    }
    template <typename Value>
    void put(const std::vector<Value>& values) {
        put(values.size());
        if constexpr (std::is_trivially_copyable_v<Value>)
            m_bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value));
        else
            for (const Value& value : values)
                put(value);
    }
    template <typename Value>
    void put(std::span<const Value> values) {
        put(std::vector<Value>(values.begin(), values.end()));
    }
    void put(const std::string& text) {
        put(text.size());
        m_bytes += text;
    }

    std::string take() { return std::move(m_bytes); }

private:
    std::string m_bytes;
};

/// Reads what a Packer has put, in the same order.
class Unpacker {
public:
    /// @param bytes must outlive this object
    explicit Unpacker(std::string_view bytes)
        : m_bytes(bytes) {}

    template <typename Value>
    void get(Value& value) {
        static_assert(std::is_trivially_copyable_v<Value>);
        std::memcpy(&value, next(sizeof(Value)), sizeof(Value));
    }
    template <typename Value>
    void get(std::vector<Value>& values) {
        values.resize(size());
        if constexpr (std::is_trivially_copyable_v<Value>) {
            const std::size_t bytes = values.size() * sizeof(Value);
            if (const char* begin = next(bytes); bytes > 0)
                std::memcpy(values.data(), begin, bytes);
        } else {
            for (Value& value : values)
                get(value);
        }
    }
    /// @param values as many as were put
    template <typename Value>
    void get(std::span<Value> values) {
        std::vector<Value> found;
        get(found);
        if (found.size() != values.size())
            throw Error("A message from another process has another length");
        std::copy(found.begin(), found.end(), values.begin());
    }
    void get(std::string& text) {
        const std::size_t length = size();
        text.assign(next(length), length);
    }

private:
    std::size_t size() {
        std::size_t count = 0;
        get(count);
        return count;
    }

    const char* next(std::size_t count) {
        if (count > m_bytes.size())
            throw Error("A message from another process is too short");
        const char* begin = m_bytes.data();
        m_bytes.remove_prefix(count);
        return begin;
    }

    std::string_view m_bytes;
};

template <typename Value>
std::string packed(const Value& value) {
    Packer packer;
    packer.put(value);
    return packer.take();
}

template <typename Value>
Value unpacked(std::string_view bytes) {
    Value value{};
    Unpacker(bytes).get(value);
    return value;
}

} // namespace secateur
