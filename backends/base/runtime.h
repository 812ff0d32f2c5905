#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace secateur {

/// Sets libtorch's number of threads and the thresholds of the memory allocator. Call it before any tensor is made.
/// @param threads 0 = one thread per core
void initialiseRuntime(int threads);

/// Bytes that this process may still allocate: the machine's available memory or the rest of its control group's limit,
/// whichever is less.
std::int64_t availableMemory();

/// Runs work on untrusted data in a forked child process, where it may crash, hang or exhaust memory, and returns its
/// result. The child is killed after a minute, after `processorSeconds` of processor time, or when it needs more than
/// `moreMemory` bytes in addition to the memory of this process. The work must not take a lock that another thread may
/// hold. Changes of variables in the child do not affect this process.
/// @returns empty if the child crashed or was killed
/// @throws Error the error that the work threw, or if no process can be created
std::optional<std::string> runIsolated(const std::function<std::string()>& work, unsigned processorSeconds,
                                       std::size_t moreMemory);

} // namespace secateur
