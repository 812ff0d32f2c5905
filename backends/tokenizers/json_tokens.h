#pragma once

#include <cstddef>
#include <cstdint>
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

} // namespace secateur
