#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// "0.0123", "1.23e-07", "134": a number for a label; "–" for NaN.
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
/// "1 head", "3,072 heads": a noun whose plural ends in s.
std::string counted(std::uint64_t count, std::string_view thing);
/// "98.2 MB", in powers of 1000
std::string shortBytes(double bytes);
/// "L12.H3"
std::string headName(int layer, int head);
/// ISO 8601 in UTC, to the second
std::string utcNow();
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// Bytes of the valid UTF-8 character that begins at `at`; 0 if there is none, and then `broken` is the number of bytes
/// that one replacement character stands for.
std::size_t validLength(std::string_view text, std::size_t at, std::size_t& broken);

/// Offset of the first byte that is not part of valid UTF-8; nothing if the text is valid.
std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

/// Bytes of the white-space character at `at` of valid UTF-8, by the definition of Python's str.isspace(), with which
/// evaluation harnesses split and strip; 0 if there is none.
std::size_t whiteSpaceAt(std::string_view text, std::size_t at);

/// The text without leading and trailing white space.
std::string_view trimmed(std::string_view text);

} // namespace secateur
