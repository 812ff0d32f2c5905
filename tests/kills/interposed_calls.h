#pragma once

#include <string>

namespace secateur::test {

// This program's own write(), rename(), fsync() and their like stand before the C library's, for all libraries in it.
// They do the same, and count: calls that make, change, name or lock something in one folder.

/// From now on counts calls on that folder. At the given one, counted from 1, the process ends as by kill -9: before
/// the call does anything, and in the middle of a write. 0 = never.
void dieAtCall(const std::string& folder, long call);
long countedCalls();

/// One line on standard output, past all counting.
void tell(const std::string& line);
/// Of the clock that all processes share.
long long nanoseconds();

} // namespace secateur::test
