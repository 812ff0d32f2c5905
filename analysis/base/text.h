#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// "0.0123", "1.23e-07", "134": a number for a label, rounded to significant digits; "–" for NaN.
std::string significant(double value, int digits = 3);
/// "12.3 ± 0.2": a value with its standard error, rounded to the error's precision; significant() if the error is 0.
std::string withError(double value, double error);
/// The shortest text that reads back as the same double; "nan" for NaN.
std::string exactly(double value);
/// "12.345 ± 0.213 (estimate ± its standard error)": all digits of a value; exactly() if the error is 0.
std::string exactlyWithError(double value, double error);
/// "134.5 M", "8.03 B"
std::string shortCount(double count);
/// "134,515,008"
std::string grouped(std::uint64_t count);
/// "1 head", "3,072 heads". @param thing a noun in the singular, whose plural ends in s
std::string counted(std::uint64_t count, std::string_view thing);
/// "98.2 MB": 1 MB is 1000000 bytes.
std::string shortBytes(double bytes);
/// "L12.H3"
std::string headName(int layer, int head);
/// ISO 8601 in UTC, to the second
std::string utcNow();
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// Length in bytes of the valid UTF-8 character that begins at `at`. If there is none, 0, and `broken` becomes the
/// number of bytes that one replacement character (U+FFFD) stands for.
std::size_t validLength(std::string_view text, std::size_t at, std::size_t& broken);

/// Offset of the first byte that is not part of valid UTF-8; nothing if the text is valid.
std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

/// Length in bytes of the white-space character that begins at `at`; 0 if there is none. White space is as in Python's
/// str.isspace(), by which evaluation harnesses split and strip texts.
/// @param text valid UTF-8
std::size_t whiteSpaceAt(std::string_view text, std::size_t at);

/// The text without the white space at either end.
std::string_view trimmed(std::string_view text);

} // namespace secateur
