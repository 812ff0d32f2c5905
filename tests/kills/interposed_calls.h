#pragma once

#include <string>

namespace secateur::test {

// Replaces write(), rename(), fsync() and similar functions of the C library in this program and in its libraries. They
// work as usual. Calls that create, change, rename or lock a file in one chosen folder are counted.

/// Starts to count the calls for files in `folder`. At call number `call`, counted from 1, the process is killed with
/// SIGKILL: before the call has any effect, or in the middle of a write(). With 0 it is never killed.
void dieAtCall(const std::string& folder, long call);
long countedCalls();

/// Writes a line to standard output with a system call that is not counted.
void tell(const std::string& line);
/// The time of the monotonic clock, which is the same for all processes.
long long nanoseconds();

} // namespace secateur::test
