#include "backends/tokenizers/charsmap.h"

#include "analysis/base/error.h"
#include "backends/tokenizers/unicode.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

namespace secateur {

namespace {

// A unit of the double array: what node it leads to, on which byte, and whether a text ends there.
bool endsText(std::uint32_t unit) {
    return ((unit >> 8U) & 1U) != 0;
}
std::uint32_t valueOf(std::uint32_t unit) {
    return unit & 0x7FFFFFFFU;
}
std::uint32_t labelOf(std::uint32_t unit) {
    return unit & 0x800000FFU;
}
std::uint32_t offsetOf(std::uint32_t unit) {
    return (unit >> 10U) << ((unit & 0x200U) >> 6U);
}

} // namespace

Charsmap::Charsmap(std::string_view blob, const std::string& subject) {
    std::uint32_t trieBytes = 0;
    if (blob.size() >= sizeof trieBytes)
        std::memcpy(&trieBytes, blob.data(), sizeof trieBytes);
    if (trieBytes == 0 || trieBytes % sizeof(std::uint32_t) != 0 || trieBytes > blob.size() - sizeof trieBytes)
        throw Error(fmt::format("is a character map of {} bytes that says its index has {}", blob.size(), trieBytes),
                    subject);
    m_units.resize(trieBytes / sizeof(std::uint32_t));
    std::memcpy(m_units.data(), blob.data() + sizeof trieBytes, trieBytes);
    m_replacements = blob.substr(sizeof trieBytes + trieBytes);
    if (m_replacements.empty() || m_replacements.back() != '\0')
        throw Error("is a character map whose last replacement does not end", subject);
    if (!unicode::isValid(m_replacements))
        throw Error("is a character map whose replacements are not UTF-8", subject);
}

template <typename Found>
void Charsmap::walk(std::string_view text, std::size_t at, Found found) const {
    std::uint32_t node = offsetOf(m_units[0]);
    for (std::size_t end = at; end < text.size(); ++end) {
        const auto byte = static_cast<unsigned char>(text[end]);
        if (byte == 0)
            return;
        node ^= byte;
        if (node >= m_units.size() || labelOf(m_units[node]) != byte)
            return;
        const bool whole = endsText(m_units[node]);
        node ^= offsetOf(m_units[node]);
        // A text that ends inside a character would leave the other half of it behind.
        if (!whole || (end + 1 < text.size() && unicode::isContinuation(text[end + 1])))
            continue;
        const std::size_t place = node < m_units.size() ? valueOf(m_units[node]) : m_replacements.size();
        // Replacements are found by where they begin, never by a place inside one.
        if (place >= m_replacements.size() || (place > 0 && m_replacements[place - 1] != '\0'))
            return;
        if (!found(Match{end + 1 - at, std::string_view(m_replacements.data() + place)}))
            return;
    }
}

std::optional<Charsmap::Match> Charsmap::longest(std::string_view text, std::size_t at) const {
    std::optional<Match> best;
    walk(text, at, [&](const Match& match) {
        best = match;
        return true;
    });
    return best;
}

std::optional<Charsmap::Match> Charsmap::shortest(std::string_view text, std::size_t at) const {
    std::optional<Match> first;
    walk(text, at, [&](const Match& match) {
        first = match;
        return false;
    });
    return first;
}

std::optional<std::string> fromBase64(std::string_view text) {
    const auto valueOfLetter = [](char letter) -> int {
        if (letter >= 'A' && letter <= 'Z')
            return letter - 'A';
        if (letter >= 'a' && letter <= 'z')
            return letter - 'a' + 26;
        if (letter >= '0' && letter <= '9')
            return letter - '0' + 52;
        return letter == '+' ? 62 : letter == '/' ? 63 : -1;
    };
    while (text.ends_with('='))
        text.remove_suffix(1);
    std::string bytes;
    bytes.reserve(text.size() / 4 * 3 + 3);
    std::uint32_t bits = 0;
    int count = 0;
    for (const char letter : text) {
        const int value = valueOfLetter(letter);
        if (value < 0)
            return std::nullopt;
        bits = (bits << 6U) | static_cast<std::uint32_t>(value);
        count += 6;
        if (count >= 8) {
            count -= 8;
            bytes.push_back(static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU));
        }
    }
    return bytes;
}

} // namespace secateur
