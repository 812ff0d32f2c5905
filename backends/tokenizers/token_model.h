#pragma once

#include "backends/tokenizers/vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A token of a word: its id and the number of the word's bytes that it stands for.
struct TokenPiece {
    int id = 0;
    std::uint32_t bytes = 0;
};

/// Caches the tokens of words. For one thread at a time.
class WordCache {
public:
    WordCache();

    static constexpr std::size_t longestWord = 64; ///< longer ones are rarely repeated

    /// nullptr if the word is not cached
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

/// Splits the words that pre-tokenizers make into tokens. Immutable.
class TokenModel {
public:
    virtual ~TokenModel() = default;

    /// Appends the word's tokens; their lengths add up to the word's.
    /// @param word valid UTF-8, not empty. @throws Error if no token stands for a part of it
    virtual void encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const = 0;
    virtual const Vocabulary& vocabulary() const = 0;
    virtual std::string_view kind() const = 0;
};

} // namespace secateur
