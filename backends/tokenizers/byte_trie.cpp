#include "backends/tokenizers/byte_trie.h"

#include <algorithm>
#include <bit>

namespace secateur {

ByteTrie::ByteTrie(std::size_t expectedBytes)
    : m_edges(std::bit_ceil(std::max<std::size_t>(expectedBytes, 8)))
    , m_values(1, none) {}

void ByteTrie::insert(std::uint64_t key, std::uint32_t node) {
    const std::size_t mask = m_edges.size() - 1;
    std::size_t slot = hashOf(key) & mask;
    while (m_edges[slot].key != 0)
        slot = (slot + 1) & mask;
    m_edges[slot] = {key, node};
}

std::uint32_t ByteTrie::grow(std::uint32_t node, unsigned char byte) {
    if (2 * (m_used + 1) > m_edges.size()) {
        std::vector<Edge> old(2 * m_edges.size());
        old.swap(m_edges);
        for (const Edge& edge : old) {
            if (edge.key != 0)
                insert(edge.key, edge.node);
        }
    }
    ++m_used;
    const auto fresh = static_cast<std::uint32_t>(m_values.size());
    m_values.push_back(none);
    insert(keyOf(node, byte), fresh);
    return fresh;
}

void ByteTrie::add(std::string_view text, int value) {
    if (text.empty())
        return;
    std::uint32_t& root = m_roots[static_cast<unsigned char>(text[0])];
    if (root == 0) {
        root = static_cast<std::uint32_t>(m_values.size());
        m_values.push_back(none);
    }
    std::uint32_t node = root;
    for (const char letter : text.substr(1)) {
        const auto byte = static_cast<unsigned char>(letter);
        const std::uint32_t found = next(node, byte);
        node = found != 0 ? found : grow(node, byte);
    }
    m_values[node] = value;
}

} // namespace secateur
