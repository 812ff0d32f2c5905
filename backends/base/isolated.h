#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace secateur {

/// Runs work on data that may crash, stall or exhaust whoever reads it in a child process, a copy of this one at this
/// moment, and returns the bytes that it made. The child has a minute, so many of its seconds to compute, and so much
/// more memory. It must need no lock that another thread may hold, and nothing that it changes is seen here.
/// @returns nothing when the child did not come to an end by itself
/// @throws Error what the work threw, or that no process can be made
std::optional<std::string> runIsolated(const std::function<std::string()>& work, unsigned processorSeconds,
                                       std::size_t moreMemory);

} // namespace secateur
