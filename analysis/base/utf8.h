#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace secateur {

/// Bytes of the character that starts at `at`, when it is whole and valid; else 0, and `broken` says how many bytes one
/// replacement character stands for.
std::size_t validLength(std::string_view text, std::size_t at, std::size_t& broken);

/// Where the first byte stands that begins no whole, valid character of UTF-8; nothing when all do.
std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

/// Bytes of the white space at `at` of valid UTF-8, as Python's str.isspace() counts it (which evaluation harnesses
/// split and strip by); 0 where there is none.
std::size_t whiteSpaceAt(std::string_view text, std::size_t at);

/// Without the white space around it.
std::string_view trimmed(std::string_view text);

} // namespace secateur
