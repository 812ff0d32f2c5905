#pragma once

#include "backends/tokenizers/bpe.h"
#include "backends/tokenizers/byte_trie.h"
#include "backends/tokenizers/vocabulary.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

/// A tokenizer.json, with its two long lists apart. They contain nearly all of its bytes.
struct TokenizerText {
    std::string_view vocab;  ///< the list "vocab" of "model"; empty if there is none
    std::string_view merges; ///< the list "merges" of "model"
    std::string rest;        ///< the rest of the document, with null in place of the lists
};

/// Cuts the two lists out of a document. @param text valid UTF-8 @throws Error if the text is not JSON; not every error
/// is found
TokenizerText cutTokenizerText(std::string_view text, const std::string& subject);

struct ListedToken {
    std::string text;
    std::int64_t id = 0;
    double score = 0; ///< only set in lists with scores, where ids follow from the order
};

/// Reads {"token": id, ...} or [["token", score], ...]. @throws Error
std::vector<ListedToken> readTokenList(std::string_view json, const std::string& subject);

/// Two tokens that merge. For a line with several spaces, the first text is the whole line, and the second is empty.
using MergeHalves = std::pair<std::string, std::string>;

/// Reads ["left right", ...] or [["left", "right"], ...]. @throws Error
std::vector<MergeHalves> readMergeList(std::string_view json, const std::string& subject);

/// Splits a line "left right" into its two tokens.
MergeHalves mergeHalves(std::string_view line);

/// Makes a vocabulary. @throws Error for repeated tokens or ids, ids beyond the vocabulary and invalid UTF-8
std::shared_ptr<const Vocabulary> makeVocabulary(const std::vector<ListedToken>& tokens, const std::string& subject);

/// The merges as ids, in order of rank. @param continuationPrefix prefix to remove from right tokens @throws Error
/// naming the merge
std::vector<BpeMerge> resolveMerges(const Vocabulary& vocabulary, const std::vector<MergeHalves>& merges,
                                    const std::string& continuationPrefix, const std::string& subject);

/// The greedy token model of BERT. It repeatedly takes the longest token at the front of a word. A word that cannot be
/// divided completely is unknown.
class WordPiece : public TokenModel {
public:
    /// @param unknown id of the unknown token; -1 = none, so that an unknown word is an error
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
    std::size_t m_longestWord; ///< maximum length of a word in characters
};

/// A token model in which each word is one token or unknown.
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
