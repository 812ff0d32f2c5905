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

/// Whether a text looks like a raw WikiText file, or an excerpt of one: at least one line is a top-level heading in the
/// form " = Title = ".
bool looksLikeWikitext(std::string_view text);

/// The rows that data set libraries make of a WikiText file (resources/manual/evaluation.md, token_ppl): each line
/// with its line break; a blank line is an empty row.
std::vector<std::string_view> wikitextRows(std::string_view text);

/// The articles of a WikiText file, each from its top-level heading to the next one, without the line break before that
/// (resources/manual/evaluation.md, word_ppl).
std::vector<std::string_view> wikitextPages(std::string_view text);

/// A page without the blanks and marks that WikiText puts around punctuation: the replacements of lm-eval in the same
/// order, oddities included (resources/manual/evaluation.md, word_ppl).
std::string detokenised(std::string_view page);

/// Words as lm-eval counts them: runs of white space plus one, so that white space at either end adds an empty word.
std::int64_t wordCount(std::string_view page);

/// The two perplexities that papers report for a text. Their numbers must never be compared with each other
/// (resources/manual/evaluation.md, Perplexity).
enum class TextProtocol {
    tokenPpl, ///< per token, in independent windows of a fixed length; a shorter tail is left out
    wordPpl,  ///< per word of the text as it stands in the file, page by page; every token is scored once
};

/// Where BOS stands. tokenPpl allows all modes but lmEvalNew. In wordPpl each page begins with an unscored BOS (EOS
/// where the model has no BOS); everyWindow and never are not allowed.
enum class BosMode {
    tokenizerDefault, ///< as firstOnly
    firstOnly,        ///< tokenPpl: the special tokens of the tokenizer around the whole text, so at most one BOS
    everyWindow,      ///< in front of each window, if the tokenizer puts a BOS in front of texts
    always,           ///< in front of each window, if the model has a BOS
    never,            ///< no special tokens
    lmEvalNew, ///< wordPpl as lm-eval 0.4.9.2 and later: the tokenizer's own BOS follows the prefix and is scored
};

std::string_view name(TextProtocol protocol);
std::string_view name(BosMode mode);
/// @throws UsageError that lists the known names
TextProtocol textProtocolOf(std::string_view name);
BosMode bosModeOf(std::string_view name);

struct PerplexityRules {
    TextProtocol protocol = TextProtocol::tokenPpl;
    /// Empty = tokenizerDefault; for tokenPpl on Gemma, which fails without BOS, everyWindow.
    std::optional<BosMode> bos = {};
    /// Length in tokens. 0 = the model's context, in tokenPpl at most 2048.
    int window = 0;
    /// Maximum number of tokens. tokenPpl: the rest of the text is left out. wordPpl: whole pages that fit, at least
    /// one.
    std::int64_t mostTokens = std::numeric_limits<std::int64_t>::max();

    bool operator==(const PerplexityRules&) const = default;
};

/// The rules with every default filled in for a model.
/// @throws UsageError for a BOS mode that the protocol does not allow, and for texts and windows under 2 tokens; Error
/// for encoders, and for windows longer than the model's learned position embeddings
PerplexityRules withDefaults(const PerplexityRules& rules, const ModelSpec& spec);

/// Size of a page as it stands in the file: the divisors of word_ppl.
struct PageSize {
    std::int64_t words = 0;
    std::int64_t bytes = 0;
    std::size_t index = 0; ///< in the text's pages
};

/// A text cut into windows of tokens, ready to be scored under any mask.
struct ScoredText {
    PerplexityRules rules;                ///< with defaults filled in
    bool isWikitext = false;              ///< the rules for raw WikiText files were applied
    SequenceSet windows;                  ///< wordPpl: context tokens included; `document` = page
    std::vector<std::size_t> firstScored; ///< of each window: index of the first predicted token
    std::vector<PageSize> pages;          ///< wordPpl
};

/// tokenPpl: all documents are rows of one text, joined by blank lines. A raw WikiText file is split into its lines
/// first, which gives the text that papers use; any other document is one row.
/// wordPpl: a WikiText file is split into articles and detokenised; any other document is one page, scored as it
/// stands. Blank pages are left out.
/// @param rules of withDefaults()
/// @throws Error for texts that are empty, are not UTF-8 (with the byte), or are too short to predict a token. The
/// message reads after the name of the text, which the caller adds (Error::within). Cancelled
ScoredText scoredText(const std::vector<std::string>& documents, const Tokenizer& tokenizer,
                      const PerplexityRules& rules, const Progress& progress = {});

/// A window over [prefix, t_1 .. t_N]: tokens [begin, end), of which those from `scored` on are predicted.
struct RollingWindow {
    std::size_t begin = 0;
    std::size_t scored = 0;
    std::size_t end = 0;
    bool operator==(const RollingWindow&) const = default;
};

/// Windows with at most `most` input tokens that together predict each token once. All have one token of context but
/// the last, which has as much as fits (resources/manual/evaluation.md, word_ppl). @param tokens including the prefix
std::vector<RollingWindow> rollingWindows(std::size_t tokens, std::size_t most);

/// The user's choice of a text to score.
struct TextRequest {
    std::string path;  ///< file or folder; empty = the built-in text
    std::string field; ///< of the rows of a .jsonl; empty = found automatically
    PerplexityRules rules;
    bool operator==(const TextRequest&) const = default;
};

/// The text of a TextRequest, read and cut into windows for one model.
struct EvaluationText {
    std::string source; ///< the path, or "built-in"
    std::string digest; ///< of the token ids of all windows
    ScoredText scored;
    std::vector<std::string> warnings; ///< of the tokenizer, and of windows longer than the model's context
};

} // namespace secateur
