#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A number for a label, rounded to significant digits: "0.0123", "1.23e-07", "134". "–" for NaN.
std::string significant(double value, int digits = 3);
/// A value with its standard error, rounded to the precision of the error: "12.3 ± 0.2". If the error is 0,
/// significant().
std::string withError(double value, double error);
/// The shortest text from which the same double is read; "nan" for NaN.
std::string exactly(double value);
/// All digits of a value: "12.345 ± 0.213 (estimate ± its standard error)". If the error is 0, exactly().
std::string exactlyWithError(double value, double error);
/// A rounded count: "134.5 M", "8.03 B".
std::string shortCount(double count);
/// A count with separators: "134,515,008".
std::string grouped(std::uint64_t count);
/// A count of things: "1 head", "3,072 heads". @param thing a noun in the singular whose plural ends in s
std::string counted(std::uint64_t count, std::string_view thing);
/// A size in bytes as text: "98.2 MB". 1 MB is 1000000 bytes.
std::string shortBytes(double bytes);
/// The name of a head: "L12.H3".
std::string headName(int layer, int head);
/// The current time in UTC as ISO 8601, to the second.
std::string utcNow();
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// A sort key for natural order, in which "blk.2" precedes "blk.10".
std::string naturalKey(std::string_view name);

/// Length in bytes of the UTF-8 character that begins at `at`; 0 if it is not valid.
/// @param broken set, if it is not valid, to the number of bytes that one replacement character (U+FFFD) stands for
std::size_t validLength(std::string_view text, std::size_t at, std::size_t& broken);

/// Offset of the first byte that is not part of valid UTF-8; empty if the text is valid.
std::optional<std::size_t> firstInvalidUtf8(std::string_view text);

/// Length in bytes of the white-space character that begins at `at`; 0 if there is none. White space is as in Python's
/// str.isspace(), by which evaluation harnesses split and strip texts.
/// @param text valid UTF-8
std::size_t whiteSpaceAt(std::string_view text, std::size_t at);

/// The text without the white space at either end.
std::string_view trimmed(std::string_view text);

} // namespace secateur
