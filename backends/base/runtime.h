#pragma once

namespace secateur {

/// Sets up libtorch's threads and the allocator; call before the first tensor, on the main thread or a worker.
/// @param threads 0 = one per core
void initialiseRuntime(int threads);

} // namespace secateur
