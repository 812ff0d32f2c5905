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

/// Bytes [begin, end) of a text that is being cut.
struct Cut {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
};

/// The regular expressions that families of tokenizers cut text by, as code.
struct ScanRule {
    bool foldedContractions = false; ///< 'S as 's
    bool anyLetterPrefix = false;    ///< any one character but CR, LF, letters and numbers may stand before letters
    bool newlinesApart = false;      ///< line ends go with the marks before them, else blanks up to them are one piece
    int mostDigits = 0;              ///< of one piece, which then begins without a blank; 0: any number
};

/// By the expression's exact text; nothing when it is none of these.
std::optional<ScanRule> knownScanRule(std::string_view pattern);
/// The rule of GPT-2, which byte-level pre-tokenizers have built in.
inline constexpr ScanRule gpt2Rule{};
inline constexpr ScanRule llama3Rule{
    .foldedContractions = true, .anyLetterPrefix = true, .newlinesApart = true, .mostDigits = 3};
inline constexpr ScanRule qwen2Rule{
    .foldedContractions = true, .anyLetterPrefix = true, .newlinesApart = true, .mostDigits = 1};

/// Appends the pieces of text[begin, end): all of it, in order. Valid UTF-8.
void scan(const ScanRule& rule, std::string_view text, Cut range, std::vector<Cut>& pieces);

/// A text and the words it is cut into; what lies in no word is gone.
struct Section {
    AlignedText text;
    std::vector<Cut> words;
};

/// A step that cuts words into smaller ones. Immutable.
class PreTokenizer {
public:
    virtual ~PreTokenizer() = default;
    /// @throws Error when a regular expression gives up
    virtual void apply(Section& section) const = 0;
};

using PreTokenizerPtr = std::unique_ptr<const PreTokenizer>;

/// What becomes of the delimiters that a text is cut at.
enum class Delimiters {
    removed,
    isolated,   ///< words of their own
    contiguous, ///< neighbouring ones are one word
    mergedWithPrevious,
    mergedWithNext,
};

/// What delimiters are: characters of a kind, a text, or what an expression matches.
using DelimiterKind = bool (*)(char32_t);
using DelimiterPattern = std::variant<DelimiterKind, std::string, std::shared_ptr<const Regex>>;

/// Where Metaspace puts a mark in front.
enum class PrependScheme { always, first, never };

/// @param invert what is not a delimiter is one, and the other way round
PreTokenizerPtr makeSplit(DelimiterPattern pattern, Delimiters delimiters, bool invert = false);
/// Isolates everything a rule matches, which is everything.
PreTokenizerPtr makeScan(const ScanRule& rule);
/// A blank in front of every word that does not begin with one.
PreTokenizerPtr makePrefixBlank();
PreTokenizerPtr makeMetaspace(std::string mark, PrependScheme scheme, bool split);
/// Words of letters, and of other characters that are no blanks.
PreTokenizerPtr makeWordsAndOthers();

} // namespace secateur
