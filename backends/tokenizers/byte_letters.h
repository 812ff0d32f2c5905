#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// The printable character by which byte-level vocabularies spell each byte (GPT-2's alphabet), as UTF-8.
const std::array<std::string, 256>& byteLetters();

/// The bytes that a token spells in that alphabet; nothing when it has other characters.
std::optional<std::string> spelledBytes(std::string_view token);

/// "<0x0A>"
std::string byteTokenName(unsigned char byte);
/// The byte that such a name tells.
std::optional<unsigned char> namedByte(std::string_view token);

} // namespace secateur
