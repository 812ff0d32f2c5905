#pragma once

#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/token_model.h"

#include <memory>
#include <string>

namespace secateur {

/// BERT's greedy model: splits a word from its front into the longest tokens. A word that cannot be split is unknown.
class WordPiece : public TokenModel {
public:
    /// @param unknown -1 = none: a word that cannot be split is an error
    WordPiece(std::shared_ptr<const Vocabulary> vocabulary, const std::string& continuationPrefix, int unknown,
              std::size_t longestWord);

    void encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const override;
    const Vocabulary& vocabulary() const override { return *m_vocabulary; }
    std::string_view kind() const override { return "WordPiece"; }

private:
    bool split(std::string_view word, std::vector<TokenPiece>& pieces) const;

    std::shared_ptr<const Vocabulary> m_vocabulary;
    ByteTrie m_first;
    ByteTrie m_further;
    int m_unknown;
    std::size_t m_longestWord; ///< in characters
};

/// A word is one token or unknown.
class WordLevel : public TokenModel {
public:
    WordLevel(std::shared_ptr<const Vocabulary> vocabulary, int unknown)
        : m_vocabulary(std::move(vocabulary))
        , m_unknown(unknown) {}

    void encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const override;
    const Vocabulary& vocabulary() const override { return *m_vocabulary; }
    std::string_view kind() const override { return "word list"; }

private:
    std::shared_ptr<const Vocabulary> m_vocabulary;
    int m_unknown;
};

} // namespace secateur
