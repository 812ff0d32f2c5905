#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A token of a word: its id, and how many of the word's bytes it stands for.
struct TokenPiece {
    int id = 0;
    std::uint32_t bytes = 0;
};

/// Remembers the tokens of words that come again. For one thread at a time.
class WordCache {
public:
    WordCache();

    static constexpr std::size_t longestWord = 64; ///< longer ones hardly come again

    /// nullptr when it is not known
    const TokenPiece* find(std::string_view word, std::size_t& count) const;
    void remember(std::string_view word, std::span<const TokenPiece> pieces);

private:
    struct Entry {
        std::uint64_t hash = 0;
        std::uint32_t text = 0;
        std::uint32_t pieces = 0;
        std::uint32_t bytes = 0;
        std::uint32_t count = 0;
    };

    std::vector<Entry> m_entries;
    std::string m_texts;
    std::vector<TokenPiece> m_pieces;
};

} // namespace secateur
