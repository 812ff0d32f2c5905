#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace secateur {

/// A set of texts with values. Finds the texts of the set that begin at a position of another text.
class ByteTrie {
public:
    static constexpr int none = -1;

    explicit ByteTrie(std::size_t expectedBytes = 0);

    /// Adds a text with its value. If the set contains the text already, replaces the value. @param value at least 0
    void add(std::string_view text, int value);
    bool empty() const { return m_values.size() == 1; }
    bool mayBegin(char byte) const { return m_roots[static_cast<unsigned char>(byte)] != 0; }

    /// Calls found(length, value) for every text of the set that begins at `at`, the shortest first.
    template <typename Found>
    void match(std::string_view text, std::size_t at, Found found) const {
        if (at >= text.size())
            return;
        std::uint32_t node = m_roots[static_cast<unsigned char>(text[at])];
        for (std::size_t end = at + 1; node != 0; ++end) {
            if (m_values[node] != none)
                found(end - at, m_values[node]);
            if (end == text.size())
                return;
            node = next(node, static_cast<unsigned char>(text[end]));
        }
    }

private:
    struct Edge {
        std::uint64_t key = 0; ///< parent node and byte; 0 = unused, because edges of the root are in m_roots
        std::uint32_t node = 0;
    };

    static std::size_t hashOf(std::uint64_t key) { return (key * 0x9E3779B97F4A7C15U) >> 20U; }
    static std::uint64_t keyOf(std::uint32_t node, unsigned char byte) { return (std::uint64_t{node} << 8U) | byte; }

    std::uint32_t next(std::uint32_t node, unsigned char byte) const {
        const std::uint64_t key = keyOf(node, byte);
        const std::size_t mask = m_edges.size() - 1;
        for (std::size_t slot = hashOf(key) & mask;; slot = (slot + 1) & mask) {
            if (m_edges[slot].key == key)
                return m_edges[slot].node;
            if (m_edges[slot].key == 0)
                return 0;
        }
    }
    std::uint32_t grow(std::uint32_t node, unsigned char byte);
    void insert(std::uint64_t key, std::uint32_t node);

    std::array<std::uint32_t, 256> m_roots{};
    std::vector<Edge> m_edges;
    std::size_t m_used = 0;
    std::vector<int> m_values; ///< value of each node; node 0 is the root
};

} // namespace secateur
