#include "analysis/base/shown_text.h"

#include "analysis/base/text.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr std::size_t longestName = 200; ///< in characters
constexpr std::size_t longestText = 2000;
constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD
constexpr std::string_view ellipsis = "\xE2\x80\xA6";    // U+2026

/// The code point of one valid character.
char32_t codePoint(std::string_view character) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
    if (character.size() == 1)
        return byte(0);
    char32_t code = byte(0) & (0x7FU >> character.size());
    for (std::size_t i = 1; i < character.size(); ++i)
        code = code << 6U | (byte(i) & 0x3FU);
    return code;
}

/// Control characters (C0, DEL, C1), separators of lines and paragraphs, and marks of the direction of writing.
bool isUnsafe(char32_t code) {
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C || code == 0x200E || code == 0x200F ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(char32_t code) {
    if (code == '\n')
        return "\\n";
    if (code == '\r')
        return "\\r";
    if (code == '\t')
        return "\\t";
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "\\u";
    for (int shift = 12; shift >= 0; shift -= 4)
        text += digits[code >> static_cast<unsigned>(shift) & 0xFU];
    return text;
}

/// The character that begins at `at`, as it is shown. Moves `at` behind it.
/// @param kept control characters that are not escaped
std::string takeCharacter(std::string_view text, std::size_t& at, std::string_view kept) {
    std::size_t broken = 0;
    const std::size_t length = validLength(text, at, broken);
    const std::string_view character = text.substr(at, length);
    at += length > 0 ? length : broken;
    if (length == 0)
        return std::string(replacement);
    const char32_t code = codePoint(character);
    const bool isKept = length == 1 && kept.find(character.front()) != std::string_view::npos;
    return isUnsafe(code) && !isKept ? escaped(code) : std::string(character);
}

/// A whole text with escapes. @param kept as of takeCharacter()
std::string escapedText(std::string_view text, std::string_view kept) {
    std::string shown;
    for (std::size_t at = 0; at < text.size();)
        shown += takeCharacter(text, at, kept);
    return shown;
}

/// The characters of a text that needs no escapes.
std::vector<std::string> charactersOf(std::string_view text) {
    std::vector<std::string> characters;
    for (std::size_t at = 0; at < text.size();)
        characters.push_back(takeCharacter(text, at, {}));
    return characters;
}

/// Appends characters; of more than `most`, the first and the last.
void append(std::string& text, const std::vector<std::string>& characters, std::size_t begin, std::size_t end,
            std::size_t most) {
    const bool isShort = end - begin <= most;
    const std::size_t head = isShort ? end : begin + most / 2;
    for (std::size_t i = begin; i < head; ++i)
        text += characters[i];
    if (isShort)
        return;
    text += ellipsis;
    for (std::size_t i = end - (most - most / 2 - 1); i < end; ++i)
        text += characters[i];
}

/// Shortens long names.
std::string withShortNames(const std::vector<std::string>& characters) {
    std::string text;
    for (std::size_t begin = 0; begin < characters.size();) {
        std::size_t end = begin;
        while (end < characters.size() && characters[end] != " " && characters[end] != "/")
            ++end;
        append(text, characters, begin, end, longestName);
        if (end < characters.size())
            text += characters[end++];
        begin = end;
    }
    return text;
}

} // namespace

std::string shownLine(std::string_view text) {
    std::string line = withShortNames(charactersOf(escapedText(text, {})));
    if (line.size() <= longestText)
        return line;
    const std::vector<std::string> characters = charactersOf(std::exchange(line, {}));
    append(line, characters, 0, characters.size(), longestText);
    return line;
}

std::string shownText(std::string_view text) {
    return escapedText(text, "\n\t");
}

std::string markdownLine(std::string_view text) {
    constexpr std::string_view interpreted = "\\`*[]<>#|~&!$";
    const std::string line = shownLine(text);
    const auto isLetter = [&](std::size_t at) {
        constexpr std::string_view others = " \t.,:;()-_/";
        return at < line.size() && others.find(line[at]) == std::string_view::npos;
    };
    std::string escapes;
    for (std::size_t at = 0; at < line.size(); ++at) {
        // Inside a word an underscore stands for itself.
        const bool isOuter = line[at] == '_' && !(at > 0 && isLetter(at - 1) && isLetter(at + 1));
        if (isOuter || interpreted.find(line[at]) != std::string_view::npos)
            escapes += '\\';
        escapes += line[at];
    }
    return escapes;
}

} // namespace secateur
