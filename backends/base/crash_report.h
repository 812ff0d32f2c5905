#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// What a crash report says of the program.
struct CrashFacts {
    std::string program; ///< "secateur" or "secateur-cli"; the file's name begins with it
    std::vector<std::string> arguments;
    std::vector<std::string> versions; ///< of libraries that the backends do not know, for example "Qt: 6.4.2"
};

/// The path $XDG_STATE_HOME/secateur/crashes, or ~/.local/state/secateur/crashes if the variable is not set; empty if
/// neither folder is known.
std::string crashFolder();

/// From now on a SIGSEGV, SIGBUS, SIGFPE, SIGILL or SIGABRT, and an exception that nothing catches, writes a report
/// into crashFolder() and names it on standard error. After that the signal has the effect that it had before. Nothing
/// is written, not even the folder, before the program crashes. A crash in a forked child process writes no report.
/// Call it once, at the start of main().
void reportCrashes(const CrashFacts& facts);

/// Sets the model or session that reports name as open. The rest of a very long text is left out. Thread-safe.
void noteOpened(std::string_view path);

/// Adds a line to the log of which reports contain the last 200 lines. Thread-safe.
void noteLogLine(std::string_view level, std::string_view text);

/// Passes the messages of spdlog's present default logger on to noteLogLine().
void noteLog();

} // namespace secateur
