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

/// Whether a text is a raw WikiText file, or a piece of one: some line is a top-level heading as those files spell it,
/// " = Title = ".
bool looksLikeWikitext(std::string_view text);

/// The rows that data set libraries make of such a file (evaluation.md 1.1): each line with its line break, nothing
/// where a line is blank.
std::vector<std::string_view> wikitextRows(std::string_view text);

/// Its articles, each from its top-level heading to the next one, without the line break before that (1.3).
std::vector<std::string_view> wikitextPages(std::string_view text);

/// A page without the blanks and marks that WikiText puts around punctuation, replacement by replacement as the
/// evaluation harness does it (1.3), whose oddities are kept.
std::string detokenised(std::string_view page);

/// Runs of white space and one more: an empty piece before or behind counts as a word (1.3).
std::int64_t wordCount(std::string_view page);

/// The two perplexities that papers report of one text; never to be compared with each other (evaluation.md 1).
enum class TextProtocol {
    tokenPpl, ///< per token, in windows of a fixed length that see nothing of each other; a shorter tail is left out
    wordPpl,  ///< per word of the text as it stands in the file, page by page, every token scored once
};

/// Where BOS stands. tokenPpl knows all but lmEvalNew; wordPpl begins each page with BOS (EOS where the model has no
/// BOS) as what the first token follows, and knows no everyWindow and no never.
enum class BosMode {
    tokenizerDefault, ///< as firstOnly
    firstOnly,        ///< tokenPpl: what the tokenizer puts around the whole text, so at most in the first window
    everyWindow,      ///< in front of each window, where the tokenizer puts one in front of texts
    always,           ///< in front of each window, where the model has one at all
    never,            ///< no special tokens
    lmEvalNew,        ///< wordPpl as lm-eval 0.4.9.2 and later: a BOS of the tokenizer's own is scored behind the first
};

std::string_view name(TextProtocol protocol);
std::string_view name(BosMode mode);
/// @throws UsageError naming the known ones
TextProtocol textProtocolOf(std::string_view name);
BosMode bosModeOf(std::string_view name);

struct PerplexityRules {
    TextProtocol protocol = TextProtocol::tokenPpl;
    /// Empty = tokenizerDefault; for tokenPpl of Gemma, which is lost without a BOS, everyWindow.
    std::optional<BosMode> bos = {};
    /// Tokens that the model sees at once. 0 = what the model was made for, in tokenPpl at most 2048.
    int window = 0;
    /// tokenPpl: of the text, whose rest is left out. wordPpl: whole pages, as many as fit but at least one.
    std::int64_t mostTokens = std::numeric_limits<std::int64_t>::max();

    bool operator==(const PerplexityRules&) const = default;
};

/// The rules with every default filled in for a model.
/// @throws UsageError for a mode that the protocol does not know, and texts and windows under 2 tokens; Error for
/// encoders, and windows beyond the positions that a model has learned
PerplexityRules settled(const PerplexityRules& rules, const ModelSpec& spec);

/// What word_ppl divides by, of the page as it stands in the file.
struct PageSize {
    std::int64_t words = 0;
    std::int64_t bytes = 0;
    std::size_t index = 0; ///< in the text's pages
};

/// A text cut into windows of tokens, ready to be scored under any mask.
struct ScoredText {
    PerplexityRules rules;                ///< settled
    bool isWikitext = false;              ///< the rules for raw WikiText files were applied
    SequenceSet windows;                  ///< of wordPpl with the tokens of context in front; `document` = page
    std::vector<std::size_t> firstScored; ///< of each window; tokens from there on are predicted, each from all before
    std::vector<PageSize> pages;          ///< wordPpl
};

/// tokenPpl: all documents are rows of one text, joined by blank lines. A document that looks like a raw WikiText file
/// is its lines instead, which gives the text that papers use; any other plain text stays as it is.
/// wordPpl: a WikiText file is its articles, scored without the blanks around punctuation; any other document is a
/// page, scored as it stands. Blank ones are left out.
/// @param rules settled
/// @throws Error for texts that are empty, no UTF-8 (naming the byte), or too short to predict anything; its message
/// reads after the name of the text, which the caller adds (Error::within). Cancelled
ScoredText scoredText(const std::vector<std::string>& documents, const Tokenizer& tokenizer,
                      const PerplexityRules& rules, const Progress& progress = {});

/// A window over [prefix, t_1 .. t_N]: tokens [begin, end), predicted from `scored` on.
struct RollingWindow {
    std::size_t begin = 0;
    std::size_t scored = 0;
    std::size_t end = 0;
    bool operator==(const RollingWindow&) const = default;
};

/// Windows that predict each token once, of `most` tokens of input at most: one token of context in all but the last,
/// which has as much as fits (evaluation.md 1.3). @param tokens with the prefix
std::vector<RollingWindow> rollingWindows(std::size_t tokens, std::size_t most);

/// A text to score a model on, as a person names it.
struct TextRequest {
    std::string path;  ///< file or folder; empty = the built-in text
    std::string field; ///< of the rows of a .jsonl; empty = whichever they have
    PerplexityRules rules;
    bool operator==(const TextRequest&) const = default;
};

/// The same, read, and cut for one model.
struct EvaluationText {
    std::string source; ///< where it came from: the path, or "built-in"
    std::string digest; ///< of the token ids of all windows
    ScoredText scored;
    std::vector<std::string> warnings; ///< of the tokenizer, and of windows that are too long
};

} // namespace secateur
