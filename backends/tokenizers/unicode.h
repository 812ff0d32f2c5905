#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Characters and the character classes that tokenizers use.
namespace secateur::unicode {

/// Bits of the character classes of pre-tokenizers. They follow Unicode 16, like the regular expressions.
enum Class : std::uint8_t {
    letter = 1,
    number = 2,
    space = 4,   ///< White_Space
    newline = 8, ///< CR and LF
    mark = 16,
    punctuation = 32,
    symbol = 64,
};

/// Class bits of every code point, from 0 to 0x10FFFF.
const std::uint8_t* classes();

inline constexpr char32_t replacement = 0xFFFD;

/// A character of valid UTF-8 and its number of bytes.
struct Character {
    char32_t code = 0;
    std::size_t bytes = 0;
};

inline Character characterAt(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
    const char32_t lead = byte(0);
    if (lead < 0x80)
        return {lead, 1};
    if (lead < 0xE0)
        return {((lead & 0x1FU) << 6U) | (byte(1) & 0x3FU), 2};
    if (lead < 0xF0)
        return {((lead & 0x0FU) << 12U) | ((byte(1) & 0x3FU) << 6U) | (byte(2) & 0x3FU), 3};
    return {((lead & 0x07U) << 18U) | ((byte(1) & 0x3FU) << 12U) | ((byte(2) & 0x3FU) << 6U) | (byte(3) & 0x3FU), 4};
}

inline bool isContinuation(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

void append(std::string& text, char32_t code);
std::string utf8(char32_t code);

bool isValid(std::string_view text);
/// The text as valid UTF-8, with one replacement character for each maximal invalid part.
std::string repaired(std::string_view text);

// Sets of characters as the original tokenizer libraries define them. Some follow older versions of Unicode.
bool isBertPunctuation(char32_t code);
bool isBertControl(char32_t code);    ///< removed by BERT's cleaning, as are 0 and U+FFFD
bool isNonspacingMark(char32_t code); ///< accents that BERT removes
bool isStrippedAccent(char32_t code); ///< accents that the normalizer StripAccents removes
bool isChinese(char32_t code);        ///< the ideographs of BERT
bool isWordCharacter(char32_t code);  ///< the characters of \w
inline bool isSpace(char32_t code) {
    return (classes()[code] & space) != 0;
}
inline bool isNumber(char32_t code) {
    return (classes()[code] & number) != 0;
}

/// Ranges [first, last] of characters that Unicode versions after `version` added to a general category.
/// @param category for example "L" or "Lu"; an unknown category gives no ranges
std::vector<std::pair<char32_t, char32_t>> addedAfter(int version, std::string_view category);

/// Appends the full lower-case mapping of a character, without regard to its context. It is usually one character.
void appendLower(std::string& text, char32_t code);

} // namespace secateur::unicode
