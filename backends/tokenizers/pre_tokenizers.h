#pragma once

#include "backends/tokenizers/normalizers.h"
#include "backends/tokenizers/regex.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace secateur {

/// A word: the bytes [begin, end) of a text.
struct WordRange {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// A regular expression by which a family of tokenizers splits text, described by options of scan(), which is faster.
struct ScanRule {
    bool foldedContractions = false; ///< whether 'S is treated like 's
    bool anyLetterPrefix = false;    ///< whether any character but CR, LF, letters and numbers may precede letters
    bool newlinesApart = false;      ///< whether line ends join marks before them, and blanks up to them are a piece
    int mostDigits = 0;              ///< maximum digits of a piece, which then has no leading space; 0: no limit
};

// The expressions of GPT-2, Llama 3, Qwen 2 and Mistral's tekken tokenizers.
inline constexpr std::string_view gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view llama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view tekkenPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// The rule for a regular expression with exactly this text; empty if there is none.
std::optional<ScanRule> knownScanRule(std::string_view pattern);
/// The rule of GPT-2. Byte-level pre-tokenizers use it too.
inline constexpr ScanRule gpt2Rule{};
inline constexpr ScanRule llama3Rule{
    .foldedContractions = true, .anyLetterPrefix = true, .newlinesApart = true, .mostDigits = 3};
inline constexpr ScanRule qwen2Rule{
    .foldedContractions = true, .anyLetterPrefix = true, .newlinesApart = true, .mostDigits = 1};

/// Appends the pieces of a range of a text, in order. Together they cover the range. @param text valid UTF-8
void scan(const ScanRule& rule, std::string_view text, WordRange range, std::vector<WordRange>& pieces);

/// A text and its words. Text outside of words produces no tokens.
struct Section {
    AlignedText text;
    std::vector<WordRange> words;
};

/// A step that splits words into smaller words. Immutable.
class PreTokenizer {
public:
    virtual ~PreTokenizer() = default;
    /// @throws Error if a regular expression takes too many steps
    virtual void apply(Section& section) const = 0;
};

using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

/// How delimiters are treated when a text is split at them.
enum class Delimiters {
    removed,
    isolated,   ///< each delimiter becomes a word
    contiguous, ///< adjacent delimiters become one word
    mergedWithPrevious,
    mergedWithNext,
};

/// What is a delimiter: characters of a kind, a text, or the matches of an expression.
using DelimiterKind = bool (*)(char32_t);
using DelimiterPattern = std::variant<DelimiterKind, std::string, std::shared_ptr<const Regex>>;

/// The words before which Metaspace puts a mark: all words, the first word of the text, or none.
enum class PrependScheme { always, first, never };

/// Splits words at delimiters. @param invert whether delimiters and the text between them exchange their roles
PreTokenizerPtr makeSplit(DelimiterPattern pattern, Delimiters delimiters, bool invert = false);
/// Splits words into the pieces of scan().
PreTokenizerPtr makeScan(const ScanRule& rule);
/// Puts a space before every word that does not begin with one.
PreTokenizerPtr makePrefixBlank();
PreTokenizerPtr makeMetaspace(std::string mark, PrependScheme scheme, bool split);
/// Splits into runs of word characters and runs of other characters except white space (\w+|[^\w\s]+).
PreTokenizerPtr makeWordsAndOthers();

} // namespace secateur
