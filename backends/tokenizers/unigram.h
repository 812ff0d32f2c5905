#pragma once

#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/vocabulary.h"

#include <array>
#include <memory>

namespace secateur {

struct UnigramOptions {
    int unknown = -1;              ///< id of the unknown token; -1 = none, so that an unknown character is an error
    bool byteFallback = false;     ///< whether unknown characters become <0x..> tokens, if these exist
    bool singlePrecision = false;  ///< whether scores are summed in float32, as in SentencePiece
    std::vector<bool> usable;      ///< for each id, whether texts may be divided into this token; empty = all may
    std::vector<bool> userDefined; ///< for each id, whether the token takes precedence over others; empty = none
};

/// Splits a word into the tokens with the largest sum of scores, which is the most likely division.
class Unigram : public TokenModel {
public:
    /// @param scores score of each id
    Unigram(std::shared_ptr<const Vocabulary> vocabulary, std::vector<double> scores, UnigramOptions options);

    void encode(std::string_view word, WordCache& cache, std::vector<TokenPiece>& pieces) const override;
    const Vocabulary& vocabulary() const override { return *m_vocabulary; }
    std::string_view kind() const override { return "Unigram"; }

private:
    struct Node {
        double score = 0;
        std::uint32_t start = 0;
        int id = -1; ///< id of the token that ends here; -1 if none does
    };
    template <typename Score>
    void fill(std::string_view word, std::vector<Node>& ends) const;
    double scoreOf(int id, std::size_t bytes) const;
    void emitUnknown(std::string_view text, std::vector<TokenPiece>& pieces) const;

    std::shared_ptr<const Vocabulary> m_vocabulary;
    std::vector<double> m_scores;
    UnigramOptions m_options;
    ByteTrie m_trie;
    std::array<int, 256> m_byteIds{};
    double m_least = 0;
    double m_most = 0;
};

} // namespace secateur
