#pragma once

#include <string>

namespace secateur::test {

// Replaces write(), rename(), fsync() and similar calls of the C library for this program and all its libraries. They
// work as before, and calls that create, change, name or lock a file in one folder are counted.

/// From now on counts the calls on files in `folder`. At call number `call`, counted from 1, the process ends as by
/// kill -9: before the call has any effect, or in the middle of a write(). With 0 it never does.
void dieAtCall(const std::string& folder, long call);
long countedCalls();

/// Writes one line to standard output with a system call that is not counted.
void tell(const std::string& line);
/// Time of the monotonic clock, which all processes share.
long long nanoseconds();

} // namespace secateur::test
