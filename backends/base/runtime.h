#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace secateur {

/// Sets up libtorch's threads and the allocator; call before the first tensor, on the main thread or a worker.
/// @param threads 0 = one per core
void initialiseRuntime(int threads);

/// Bytes that this process may still take: what the machine has free, or what its control group leaves, whichever is
/// less.
std::int64_t availableMemory();

/// Runs work on data that may crash, stall or exhaust whoever reads it in a child process, a copy of this one at this
/// moment, and returns the bytes that it made. The child has a minute, so many of its seconds to compute, and so much
/// more memory. It must need no lock that another thread may hold, and nothing that it changes is seen here.
/// @returns nothing when the child did not come to an end by itself
/// @throws Error what the work threw, or that no process can be made
std::optional<std::string> runIsolated(const std::function<std::string()>& work, unsigned processorSeconds,
                                       std::size_t moreMemory);

} // namespace secateur
