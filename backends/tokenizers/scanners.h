#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
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

} // namespace secateur
