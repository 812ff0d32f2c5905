#include "backends/tokenizers/byte_letters.h"

#include "backends/tokenizers/unicode.h"

#include <fmt/format.h>

#include <cstddef>

namespace secateur {

namespace {

constexpr char32_t firstStandIn = 0x100; // bytes that do not print are spelled by the characters from here on
constexpr std::size_t letterCodes = 0x180;

bool printsAsItself(unsigned byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

std::array<std::string, 256> makeLetters() {
    std::array<std::string, 256> letters;
    char32_t next = firstStandIn;
    for (unsigned byte = 0; byte < letters.size(); ++byte)
        letters[byte] = unicode::utf8(printsAsItself(byte) ? byte : next++);
    return letters;
}

/// The byte of each letter, or -1.
std::array<int, letterCodes> makeBytes() {
    std::array<int, letterCodes> bytes{};
    bytes.fill(-1);
    for (std::size_t byte = 0; byte < byteLetters().size(); ++byte)
        bytes[unicode::characterAt(byteLetters()[byte], 0).code] = static_cast<int>(byte);
    return bytes;
}

int digitOf(char letter) {
    if (letter >= '0' && letter <= '9')
        return letter - '0';
    if (letter >= 'A' && letter <= 'F')
        return letter - 'A' + 10;
    return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

} // namespace

const std::array<std::string, 256>& byteLetters() {
    static const std::array<std::string, 256> letters = makeLetters();
    return letters;
}

std::optional<std::string> spelledBytes(std::string_view token) {
    static const std::array<int, letterCodes> bytes = makeBytes();
    std::string spelled;
    for (std::size_t at = 0; at < token.size();) {
        const unicode::Character character = unicode::characterAt(token, at);
        if (character.code >= letterCodes || bytes[character.code] < 0)
            return std::nullopt;
        spelled.push_back(static_cast<char>(bytes[character.code]));
        at += character.bytes;
    }
    return spelled;
}

std::string byteTokenName(unsigned char byte) {
    return fmt::format("<0x{:02X}>", byte);
}

std::optional<unsigned char> namedByte(std::string_view token) {
    if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>') || digitOf(token[3]) < 0 ||
        digitOf(token[4]) < 0)
        return std::nullopt;
    return static_cast<unsigned char>(16 * digitOf(token[3]) + digitOf(token[4]));
}

} // namespace secateur
