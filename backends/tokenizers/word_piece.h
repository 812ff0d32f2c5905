#pragma once

#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/token_model.h"

#include <memory>
#include <string>

namespace secateur {

/// BERT's greedy cut: from a word's front the longest token, again and again; a word that cannot be cut is unknown.
class WordPiece : public TokenModel {
public:
    /// @param unknown -1 when there is none: then a word that cannot be cut is an error
    WordPiece(std::shared_ptr<const Vocabulary> vocabulary, const std::string& continuationPrefix, int unknown,
              std::size_t longestWord);

    void encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const override;
    const Vocabulary& vocabulary() const override { return *m_vocabulary; }
    std::string_view kind() const override { return "WordPiece"; }

private:
    bool cut(std::string_view word, std::vector<TokenPiece>& pieces) const;

    std::shared_ptr<const Vocabulary> m_vocabulary;
    ByteTrie m_first;
    ByteTrie m_further;
    int m_unknown;
    std::size_t m_longestWord; ///< in characters
};

/// A word is a token or unknown.
class WordList : public TokenModel {
public:
    WordList(std::shared_ptr<const Vocabulary> vocabulary, int unknown)
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
