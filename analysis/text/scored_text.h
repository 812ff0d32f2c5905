#pragma once

#include "analysis/base/progress.h"
#include "analysis/model/model_spec.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Whether a text looks like a raw WikiText file or an excerpt of one: at least one line is a top-level heading of the
/// form " = Title = ".
bool looksLikeWikitext(std::string_view text);

/// The rows into which data set libraries divide a WikiText file (resources/manual/evaluation.md, token_ppl). Each line
/// with its line break is a row; a blank line is an empty row.
std::vector<std::string_view> wikitextRows(std::string_view text);

/// The articles of a WikiText file. Each begins at a top-level heading and ends before the last line break before the
/// next one (resources/manual/evaluation.md, word_ppl). Text before the first heading is a page too.
std::vector<std::string_view> wikitextPages(std::string_view text);

/// A page without the spaces and marks that WikiText puts around punctuation. The replacements and their order are
/// those of lm-eval, including its bugs (resources/manual/evaluation.md, word_ppl).
std::string detokenised(std::string_view page);

/// Number of words as lm-eval counts them: the number of runs of white space, plus one. White space at either end of
/// the page therefore adds a word.
std::int64_t wordCount(std::string_view page);

/// The two kinds of perplexity that papers report for a text. Values of different kinds cannot be compared
/// (resources/manual/evaluation.md, Perplexity).
enum class TextProtocol {
    tokenPpl, ///< per token, in separate windows of a fixed length; a shorter last window is left out
    wordPpl,  ///< per word of the original file, page by page; every token is scored once
};

/// Where BOS tokens are placed. tokenPpl allows all modes except lmEvalNew. In wordPpl, each page begins with a prefix
/// that is not scored: BOS or, if the model has none, EOS. wordPpl does not allow everyWindow and never.
enum class BosMode {
    tokenizerDefault, ///< the same as firstOnly
    firstOnly,        ///< tokenPpl: the tokenizer's special tokens around the whole text, so at most one BOS
    everyWindow,      ///< before each window, if the tokenizer puts a BOS before texts
    always,           ///< before each window, if the model has a BOS
    never,            ///< no special tokens
    lmEvalNew, ///< wordPpl as in lm-eval 0.4.9.2 and later: after the prefix the tokenizer's own BOS, which is scored
};

std::string_view name(TextProtocol protocol);
std::string_view name(BosMode mode);
/// @throws UsageError that lists the known names
TextProtocol textProtocolOf(std::string_view name);
BosMode bosModeOf(std::string_view name);

struct PerplexityRules {
    TextProtocol protocol = TextProtocol::tokenPpl;
    /// Empty = tokenizerDefault; for tokenPpl of Gemma models everyWindow, because they fail without BOS.
    std::optional<BosMode> bos = {};
    /// Length of a window in tokens. 0 = the model's context; in tokenPpl at most 2048.
    int window = 0;
    /// Maximum number of tokens of the text; the rest is left out. In wordPpl, only whole pages are left out, and at
    /// least one page is scored.
    std::int64_t mostTokens = std::numeric_limits<std::int64_t>::max();

    bool operator==(const PerplexityRules&) const = default;
};

/// The rules with every default filled in for a model.
/// @throws UsageError for a BOS mode that the protocol does not allow, and for `window` and `mostTokens` below 2; Error
/// for encoders, and for windows longer than the model's learned position embedding
PerplexityRules withDefaults(const PerplexityRules& rules, const ModelSpec& spec);

/// The size of a page in the original file, by which word_ppl divides the loss.
struct PageSize {
    std::int64_t words = 0;
    std::int64_t bytes = 0;
    std::size_t index = 0; ///< index in ScoredText::pages
};

/// A text cut into windows of tokens, ready to be scored under any mask.
struct ScoredText {
    PerplexityRules rules;                ///< with defaults filled in
    bool isWikitext = false;              ///< whether the rules for raw WikiText files were applied
    SequenceSet windows;                  ///< in wordPpl with context tokens; TokenSequence::document is the page
    std::vector<std::size_t> firstScored; ///< for each window, the index of its first scored token
    std::vector<PageSize> pages;          ///< wordPpl only
};

/// Encodes documents and cuts them into windows.
/// tokenPpl: all documents are rows of one text, joined by blank lines. A raw WikiText file is first divided into
/// wikitextRows(), which gives the text that papers use; any other document is one row.
/// wordPpl: a WikiText file is divided into wikitextPages() and detokenised(); any other document is one page, scored
/// unchanged. Blank pages are left out.
/// @param rules the result of withDefaults()
/// @throws Error for texts that are empty, not UTF-8 (with the offset), or too short to predict a token; the caller
/// adds the name of the text (Error::within()). Cancelled
ScoredText scoredText(const std::vector<std::string>& documents, const Tokenizer& tokenizer,
                      const PerplexityRules& rules, const Progress& progress = {});

/// A window of tokens of a page with its prefix: [begin, end). The tokens from `scored` on are scored.
struct RollingWindow {
    std::size_t begin = 0;
    std::size_t scored = 0;
    std::size_t end = 0;
    bool operator==(const RollingWindow&) const = default;
};

/// Divides a page into windows of at most `most` input tokens. Together they score each token except the prefix once.
/// The last window has as much context as fits; the others have one token of context (resources/manual/evaluation.md,
/// word_ppl).
/// @param tokens number of tokens, including the prefix
std::vector<RollingWindow> rollingWindows(std::size_t tokens, std::size_t most);

/// The user's choice of a text to score.
struct TextRequest {
    std::string path;  ///< file or folder; empty = the built-in text
    std::string field; ///< field with the text in the rows of a .jsonl file; empty = found automatically
    PerplexityRules rules;
    bool operator==(const TextRequest&) const = default;
};

/// The text of a TextRequest, read and cut into windows for one model.
struct EvaluationText {
    std::string source; ///< the path, or "built-in"
    std::string digest; ///< digest of the token ids of all windows
    ScoredText scored;
    std::vector<std::string> warnings; ///< from the tokenizer, and about windows longer than the model's context
};

} // namespace secateur
