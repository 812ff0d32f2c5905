#pragma once

#include "backends/tokenizers/bpe.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

/// A tokenizer.json without its two long lists, which hold nearly all of its bytes and are read separately.
struct TokenizerText {
    std::string_view vocab;  ///< of "model"; empty if there is none
    std::string_view merges; ///< of "model"
    std::string rest;        ///< the document, with null in their places
};

/// @param text valid UTF-8. @throws Error if it is not JSON; the rest is not checked completely
TokenizerText cutTokenizerText(std::string_view text, const std::string& subject);

struct ListedToken {
    std::string text;
    std::int64_t id = 0;
    double score = 0; ///< in a list with scores, whose order gives the ids
};

/// {"token": id, ...} or [["token", score], ...]. @throws Error
std::vector<ListedToken> readTokenList(std::string_view json, const std::string& subject);

/// Two tokens that merge. If a line has several spaces, the first is the whole line and the second is empty.
using MergeHalves = std::pair<std::string, std::string>;

/// ["left right", ...] or [["left", "right"], ...]. @throws Error
std::vector<MergeHalves> readMergeList(std::string_view json, const std::string& subject);

/// The halves of a line "left right".
MergeHalves mergeHalves(std::string_view line);

/// @throws Error for repeated tokens or ids, ids beyond the vocabulary and invalid UTF-8
std::shared_ptr<const Vocabulary> makeVocabulary(const std::vector<ListedToken>& tokens, const std::string& subject);

/// Merges by rank, as ids. @param continuationPrefix removed from a right half. @throws Error naming the merge
std::vector<BpeMerge> resolveMerges(const Vocabulary& vocabulary, const std::vector<MergeHalves>& merges,
                                    const std::string& continuationPrefix, const std::string& subject);

} // namespace secateur
