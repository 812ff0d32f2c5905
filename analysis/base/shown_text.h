#pragma once

#include <string>
#include <string_view>

namespace secateur {

// Names and notes in files may contain anything: line ends, escape sequences that control a terminal, bytes that are
// not UTF-8, megabytes. All that is shown of a file goes through these functions.

/// A text on one line. Control characters and marks that reverse the direction of writing become escapes ("\n",
/// "\u001b"); bytes that are not UTF-8 become U+FFFD. Words and names of more than 200 characters (runs without spaces
/// and slashes) and texts of more than 2,000 are shortened in the middle by "…".
std::string shownLine(std::string_view text);

/// A text on several lines: as shownLine(), but line ends and tabs stay, and nothing is shortened.
std::string shownText(std::string_view text);

/// A text on one line as Markdown that shows it: as shownLine(), with a backslash before characters that Markdown or
/// HTML would interpret.
std::string markdownLine(std::string_view text);

} // namespace secateur
