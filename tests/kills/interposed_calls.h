#pragma once

#include <string>
#include <vector>

namespace secateur::test {

// Replaces write(), rename(), fsync() and similar calls of the C library for this program and all its libraries. They
// work as before, and calls that create, change, name or lock a file in one folder are counted.

/// From now on counts the calls on files in `folder`. At call number `call`, counted from 1, the process ends as by
/// kill -9: before the call has any effect, or in the middle of a write(). With 0 it never does.
void dieAtCall(const std::string& folder, long call);
long countedCalls();

/// What a call does with a file.
enum class CallKind { create, write, sync, rename, remove, map };

/// From now on counts the calls of one kind on files in `folder`. Call number `call`, counted from 1, has no effect and
/// fails as on a full or broken disk; all later ones too if `lasting`. With 0 none fails.
void failAtCall(const std::string& folder, CallKind kind, long call, bool lasting = false);
/// Calls work again. Returns the number of calls that were counted.
long stopFailing();

/// From now on records which files in `folder` have bytes that were not flushed to the disk.
void watchSyncs(const std::string& folder);
/// The names that files or folders took by a rename while they had such bytes: a power failure could leave a part.
std::vector<std::string> renamedBeforeSync();

/// Writes one line to standard output with a system call that is not counted.
void tell(const std::string& line);
/// Time of the monotonic clock, which all processes share.
long long nanoseconds();

} // namespace secateur::test
