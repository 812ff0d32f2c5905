#include "backends/tokenizers/token_model.h"

#include <algorithm>
#include <functional>

namespace secateur {

namespace {

constexpr std::size_t entries = 1U << 14U; // a word's hash determines its entry
constexpr std::size_t mostPieces = 1U << 19U;

} // namespace

WordCache::WordCache()
    : m_entries(entries) {}

const TokenPiece* WordCache::find(std::string_view word, std::size_t& count) const {
    const std::uint64_t hash = std::hash<std::string_view>()(word);
    const Entry& entry = m_entries[hash % entries];
    if (entry.hash != hash || entry.count == 0 || std::string_view(m_texts).substr(entry.text, entry.bytes) != word)
        return nullptr;
    count = entry.count;
    return m_pieces.data() + entry.pieces;
}

void WordCache::remember(std::string_view word, std::span<const TokenPiece> pieces) {
    // Words without tokens are not cached: only the number of pieces limits the texts.
    if (pieces.empty())
        return;
    if (m_pieces.size() + pieces.size() > mostPieces) {
        std::ranges::fill(m_entries, Entry());
        m_texts.clear();
        m_pieces.clear();
    }
    const std::uint64_t hash = std::hash<std::string_view>()(word);
    m_entries[hash % entries] = {hash, static_cast<std::uint32_t>(m_texts.size()),
                                 static_cast<std::uint32_t>(m_pieces.size()), static_cast<std::uint32_t>(word.size()),
                                 static_cast<std::uint32_t>(pieces.size())};
    m_texts += word;
    m_pieces.insert(m_pieces.end(), pieces.begin(), pieces.end());
}

} // namespace secateur
