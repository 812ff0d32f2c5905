#pragma once

#include "backends/tokenizers/aligned_text.h"
#include "backends/tokenizers/regex.h"
#include "backends/tokenizers/scanners.h"

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace secateur {

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
