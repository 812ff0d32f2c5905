#pragma once

#include "analysis/base/progress.h"
#include "analysis/text/tokenizer.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// How a plain text is divided into documents.
enum class TextSplit {
    document, ///< at two or more blank lines
    line,     ///< each line that is not blank
    stream,   ///< the whole text is one document; only its first sequence begins with special tokens
    windows,  ///< as stream; a tail that is shorter than a sequence is left out
};

/// Which sequences begin with BOS, if the model has one.
enum class BosRule {
    tokenizerDefault, ///< all, if the tokenizer puts a BOS in front of texts
    always,           ///< all
    never,
    firstOnly, ///< the first sequence of each document
};

/// How texts become sequences of tokens.
struct SequenceRules {
    TextSplit split = TextSplit::document;
    BosRule bos = BosRule::tokenizerDefault;
    std::int64_t length = 512; ///< maximum tokens of a sequence, special tokens included
    std::int64_t mostTokens = std::numeric_limits<std::int64_t>::max(); ///< of all sequences; the last one is cut
    std::int64_t shortestTail = 16; ///< a shorter rest of a longer document is dropped
    SpecialText special = SpecialText::parsed;
};

/// A stretch of a document as tokens.
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

/// Sequences in the order of the documents, up to `mostTokens`. Each begins and ends with the special tokens that the
/// tokenizer puts around a text; `length` includes them.
/// @throws Error if special tokens alone fill `length`; Cancelled
SequenceSet makeSequences(const std::vector<std::string_view>& documents, const Tokenizer& tokenizer,
                          const SequenceRules& rules, const Progress& progress = {});

} // namespace secateur
