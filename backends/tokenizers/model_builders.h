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

/// A tokenizer.json without its two long lists, which are read apart: they hold nearly all of its bytes.
struct TokenizerText {
    std::string_view vocab;  ///< of "model"; empty when there is none
    std::string_view merges; ///< of "model"
    std::string rest;        ///< the document, with null in their places
};

/// @param text valid UTF-8. @throws Error when it is not JSON as far as this looks into it
TokenizerText cutTokenizerText(std::string_view text, const std::string& subject);

struct ListedToken {
    std::string text;
    std::int64_t id = 0;
    double score = 0; ///< where the list has such, its order are the ids
};

/// {"token": id, ...} or [["token", score], ...]. @throws Error
std::vector<ListedToken> readTokenList(std::string_view json, const std::string& subject);

/// Two tokens that merge. Where a line does not tell its halves apart, `left` is all of it and `right` is empty.
using MergeHalves = std::pair<std::string, std::string>;

/// ["left right", ...] or [["left", "right"], ...]. @throws Error
std::vector<MergeHalves> readMergeList(std::string_view json, const std::string& subject);

/// Of a line "left right".
MergeHalves mergeHalves(std::string_view line);

/// @throws Error on tokens or ids that are there twice, ids beyond the vocabulary, text that is no UTF-8
std::shared_ptr<const Vocabulary> makeVocabulary(const std::vector<ListedToken>& tokens, const std::string& subject);

/// Merges by rank, as ids. @param continuationPrefix that a right half loses. @throws Error naming the merge
std::vector<BpeMerge> resolveMerges(const Vocabulary& vocabulary, const std::vector<MergeHalves>& merges,
                                    const std::string& continuationPrefix, const std::string& subject);

} // namespace secateur
