#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Characters and their classes, as tokenizers see them.
namespace secateur::unicode {

/// Bits of the classes that pre-tokenizers ask for, by the Unicode version that their regular expressions know (16).
enum Class : std::uint8_t {
    letter = 1,
    number = 2,
    space = 4,   ///< White_Space
    newline = 8, ///< CR and LF
    mark = 16,
    punctuation = 32,
    symbol = 64,
};

/// Of every code point, from 0 to 0x10FFFF.
const std::uint8_t* classes();

inline constexpr char32_t replacement = 0xFFFD;

/// The character at `at` of valid UTF-8, and how many bytes it takes.
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
/// Valid UTF-8, with one replacement character for each maximal part of a character.
std::string repaired(std::string_view text);

// Sets of the libraries that the original tokenizers are built with, which know older versions of Unicode.
bool isBertPunctuation(char32_t code);
bool isBertControl(char32_t code);    ///< what BERT's cleaning takes out, but for 0 and U+FFFD
bool isNonspacingMark(char32_t code); ///< what BERT strips as accents
bool isStrippedAccent(char32_t code); ///< what the normalizer StripAccents takes out
bool isChinese(char32_t code);        ///< BERT's blocks of ideographs
bool isWordCharacter(char32_t code);  ///< \w
inline bool isSpace(char32_t code) {
    return (classes()[code] & space) != 0;
}

/// First and last of the runs of characters that a Unicode version after `version` added to a general category.
/// @param category "L" or "Lu"; nothing for any other name
std::vector<std::pair<char32_t, char32_t>> addedAfter(int version, std::string_view category);

/// The full mapping of one character, without context; usually one character.
void appendLower(std::string& text, char32_t code);

} // namespace secateur::unicode
