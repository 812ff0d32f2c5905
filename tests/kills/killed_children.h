#pragma once

#include <QStringList>

namespace secateur::test {

// The child processes of tst_kills.

/// Runs the child process. It prints the lines "begin N TIME", "done N TIME", "edit N TIME" and "died TIME", and "calls
/// N" if it was not killed. Times are those of nanoseconds().
/// @param arguments the id of a writer or "autosave", the folder, and the number of the call at which to kill the
/// process
int writeUntilKilled(const QStringList& arguments);
/// Opens a session that has an autosave file, prints "open" or "open elsewhere", and waits until it is killed.
int holdSession(const QStringList& arguments);

} // namespace secateur::test
