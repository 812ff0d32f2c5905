#pragma once

#include "analysis/base/shown_text.h"
#include "app/cli/table.h"

#include <fmt/core.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace secateur::cli {

// All output of the program. Texts from files are printed with escapes in place of control characters (shown_text.h). A
// stream that cannot be written never ends the program in the middle of its work: it becomes exit status 1 at the end.

/// Standard output could not be written. main() ends the program.
struct OutputFailure {};

/// Prints bytes as they are. @throws OutputFailure
void printBytes(std::string_view bytes);
/// Prints a text of several lines: only line ends and tabs are not escaped. @throws OutputFailure
void printText(std::string_view text);
/// Prints a JSON document and a line end. @throws OutputFailure
void printJson(std::string_view document);
/// Prints a table. @throws OutputFailure
void print(const Table& table);

/// While an object exists, nothing is printed on standard output.
class DroppedOutput {
public:
    DroppedOutput();
    ~DroppedOutput();
    DroppedOutput(const DroppedOutput&) = delete;
    DroppedOutput& operator=(const DroppedOutput&) = delete;
};

/// Drops everything that is printed from now on, on both streams.
void dropAllOutput();

/// Passes on what was printed on standard output. @returns whether all of it could be written so far
bool flushOutput() noexcept;

/// Whether standard output is a terminal.
bool isOnTerminal();

/// Prints text on standard error as it is. A failure is remembered until finishStreams().
void printError(std::string_view text) noexcept;

/// Remembers that a file was written, which a message tells the user if standard output fails.
void noteWritten(const std::string& path);

/// Flushes standard output and checks both streams. Tells the user of a failure on the other stream.
/// @param status exit status of the work @param isText whether standard output may end with a sentence
/// @returns the exit status of the program: 1 instead of 0 if a stream failed
int finishStreams(int status, bool isText) noexcept;

/// A value as an argument of a line: texts as by shownLine(), other values as they are.
template <typename Value>
auto inLine(const Value& value) {
    if constexpr (std::is_convertible_v<const Value&, std::string_view>)
        return shownLine(value);
    else
        return value;
}

/// A formatted text whose arguments are shown on one line each.
template <typename... Values>
std::string lineOf(fmt::format_string<Values...> format, Values&&... values) {
    return fmt::format(fmt::runtime(fmt::string_view(format)), inLine(values)...);
}

/// Prints formatted text on standard output, as lineOf(). @throws OutputFailure
template <typename... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
    printBytes(lineOf(format, std::forward<Values>(values)...));
}

/// Prints "note: ", a formatted text as lineOf(), and a line end on standard error.
template <typename... Values>
void printNote(fmt::format_string<Values...> format, Values&&... values) {
    printError("note: " + lineOf(format, std::forward<Values>(values)...) + "\n");
}

/// Prints each note on a line of its own.
void printNotes(const std::vector<std::string>& notes);

} // namespace secateur::cli
