#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace secateur {

/// Sets libtorch's number of threads, the kernels of the BLAS and the thresholds of the memory allocator. Call it before
/// any tensor is made.
/// @param threads 0 = one thread per core
void initialiseRuntime(int threads);

/// Opens closed standard streams, so that no file that the program opens later gets their number and receives what is
/// printed. Writing to them still fails. Call it first in main().
void reserveStandardStreams();

/// Returns memory that was freed to the system. initialiseRuntime() makes the heap keep a part of it.
void returnFreedMemory();

/// Bytes that this process may still allocate: the least of the machine's available memory and what is left of the
/// limits of its control group, of its address space and of its data (ulimit -v, -d).
std::int64_t availableMemory();

/// Bytes that are left of this process's limit of the address space; the largest number if there is no limit.
std::int64_t addressSpaceLeft();

/// Runs work on untrusted data in a forked child process, where it may crash, hang or exhaust memory, and returns its
/// result. The child is killed after a minute, after `processorSeconds` of processor time, or when it needs more than
/// `moreMemory` bytes in addition to the memory of this process. The work must not take a lock that another thread may
/// hold. Changes of variables in the child do not affect this process.
/// @returns empty if the child crashed or was killed
/// @throws Error the error that the work threw, or if no process can be created
std::optional<std::string> runIsolated(const std::function<std::string()>& work, unsigned processorSeconds,
                                       std::size_t moreMemory);

} // namespace secateur
