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
    document, ///< a document ends at two or more blank lines
    line,     ///< each line that is not blank is a document
    stream,   ///< the whole text is one document; only its first sequence begins with special tokens
    windows,  ///< like stream, but a last sequence that is shorter than the others is left out
};

/// Which sequences begin with BOS, if the model has one. With TextSplit::stream and windows, only the first sequence
/// can.
enum class BosRule {
    tokenizerDefault, ///< all sequences, if the tokenizer puts a BOS before texts
    always,           ///< all sequences
    never,
    firstOnly, ///< the first sequence of each document
};

/// Rules for dividing texts into sequences of tokens.
struct SequenceRules {
    TextSplit split = TextSplit::document;
    BosRule bos = BosRule::tokenizerDefault;
    std::int64_t length = 512; ///< maximum number of tokens of a sequence, including special tokens
    std::int64_t mostTokens = std::numeric_limits<std::int64_t>::max(); ///< maximum of all sequences; shortens the last
    std::int64_t shortestTail = 16; ///< minimum of text tokens in a longer document's last sequence, else it is dropped
    SpecialText special = SpecialText::parsed;
};

/// Consecutive tokens of a document.
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

/// Splits a plain text into documents without blank lines at their ends. With TextSplit::stream and windows, the only
/// document is the unchanged text. Empty if the text is blank.
std::vector<std::string_view> splitDocuments(std::string_view text, TextSplit split);

/// Makes sequences in the order of the documents, up to `mostTokens` tokens. Each sequence has the special tokens that
/// the tokenizer puts around a text, unless `split` or `bos` says otherwise. `length` includes them.
/// @throws Error if special tokens alone fill `length`; Cancelled
SequenceSet makeSequences(const std::vector<std::string_view>& documents, const Tokenizer& tokenizer,
                          const SequenceRules& rules, const Progress& progress = {});

} // namespace secateur
