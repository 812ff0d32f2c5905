#pragma once

#include <cstdint>

namespace secateur {

/// Bytes that this process may still take: what the machine has free, or what its control group leaves, whichever is
/// less.
std::int64_t availableMemory();

} // namespace secateur
