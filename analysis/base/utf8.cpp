#include "analysis/base/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace secateur {

namespace {

unsigned byteAt(std::string_view text, std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

/// U+0085, A0, 1680, 2028, 2029, 202F, 205F, 3000.
constexpr std::array<std::string_view, 8> wideSpaces{"\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\xA8",
                                                     "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};

} // namespace

std::size_t validLength(std::string_view text, std::size_t at, std::size_t& broken) {
    const auto byte = [&](std::size_t i) { return byteAt(text, at + i); };
    broken = 1;
    const unsigned lead = byte(0);
    if (lead < 0x80)
        return 1;
    if (lead < 0xC2 || lead > 0xF4)
        return 0;
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    // The second byte's range keeps out overlong forms, surrogates and what lies beyond U+10FFFF (table 3-7 of the
    // Unicode standard).
    const unsigned least = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned most = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (byte(1) < least || byte(1) > most)
        return 0;
    for (std::size_t i = 2; i < length; ++i) {
        if ((byte(i) & 0xC0U) != 0x80U) {
            broken = i;
            return 0;
        }
    }
    return length;
}

std::optional<std::size_t> firstInvalidUtf8(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t broken = 0;
        const std::size_t length = validLength(text, at, broken);
        if (length == 0)
            return at;
        at += length;
    }
    return std::nullopt;
}

std::size_t whiteSpaceAt(std::string_view text, std::size_t at) {
    const unsigned lead = byteAt(text, at);
    if (lead < 0x80)
        return at < text.size() && (lead == ' ' || (lead >= 0x09 && lead <= 0x0D) || (lead >= 0x1C && lead <= 0x1F));
    // U+2000 to U+200A
    if (lead == 0xE2 && byteAt(text, at + 1) == 0x80 && byteAt(text, at + 2) >= 0x80 && byteAt(text, at + 2) <= 0x8A)
        return 3;
    const auto space = std::ranges::find_if(wideSpaces, [&](auto s) { return text.substr(at).starts_with(s); });
    return space == wideSpaces.end() ? 0 : space->size();
}

std::string_view trimmed(std::string_view text) {
    std::size_t begin = 0;
    while (const std::size_t space = whiteSpaceAt(text, begin))
        begin += space;
    std::size_t end = begin;
    for (std::size_t at = begin; at < text.size();) {
        const std::size_t space = whiteSpaceAt(text, at);
        at += space > 0 ? space : 1;
        if (space == 0)
            end = at;
    }
    return text.substr(begin, end - begin);
}

} // namespace secateur
