#pragma once

#include "analysis/base/progress.h"
#include "analysis/text/tokenizer.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// What a document is in a plain text.
enum class TextSplit {
    document, ///< what lies between two or more blank lines
    line,     ///< each line that is not blank
    stream,   ///< the whole text, cut into sequences that begin without special tokens of their own
    windows,  ///< the whole text tokenised once; its tail shorter than a sequence is left out
};

/// Which sequences begin with BOS, where the model has one.
enum class BosRule {
    tokenizerDefault, ///< all, when the tokenizer puts one in front of a text
    always,           ///< all, when there is a BOS at all
    never,
    firstOnly, ///< the first sequence of each document
};

/// How texts become sequences of tokens.
struct SequenceRules {
    TextSplit split = TextSplit::document;
    BosRule bos = BosRule::tokenizerDefault;
    std::int64_t length = 512; ///< tokens of a sequence at most, special ones included
    std::int64_t mostTokens = std::numeric_limits<std::int64_t>::max(); ///< of all sequences; the last one is cut
    std::int64_t shortestTail = 16; ///< rests of longer documents that are shorter are dropped
    SpecialText special = SpecialText::parsed;
};

/// A piece of a document as tokens.
struct TokenSequence {
    std::vector<int> ids;
    std::vector<int> types;
    std::size_t document = 0;
};

struct SequenceSet {
    std::vector<TokenSequence> sequences;
    std::int64_t tokens = 0;
    std::int64_t droppedTails = 0;
};

/// The documents of a plain text, without the blank lines around them.
std::vector<std::string_view> splitDocuments(std::string_view text, TextSplit split);

/// In order, until `mostTokens`. Special tokens are the tokenizer's own: a sequence begins with what it puts in front
/// of a text and ends with what it puts behind it, and is no longer than `length` with them.
/// @throws Error when `length` leaves no room for text; Cancelled
SequenceSet makeSequences(const std::vector<std::string_view>& documents, const Tokenizer& tokenizer,
                          const SequenceRules& rules, const Progress& progress = {});

} // namespace secateur
