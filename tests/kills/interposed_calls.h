#pragma once

#include <string>
#include <vector>

namespace secateur::test {

// Replaces write(), rename(), fsync() and similar functions of the C library in this program and in its libraries. They
// work as usual. Calls that create, change, rename or lock a file in one chosen folder are counted.

/// Starts to count the calls for files in `folder`. At call number `call`, counted from 1, the process is killed with
/// SIGKILL: before the call has any effect, or in the middle of a write(). With 0 it is never killed.
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
/// The time of the monotonic clock, which is the same for all processes.
long long nanoseconds();

} // namespace secateur::test
