#include "backends/base/runtime.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>

#include <malloc.h>

#include <algorithm>
#include <thread>

namespace secateur {

void initialiseRuntime(int threads) {
    // The first ATen call sets OpenMP to one thread unless it is told otherwise before.
    at::set_num_threads(threads > 0 ? threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency())));
    at::globalContext().setAllowTF32CuBLAS(false);
    // Large temporaries stay in the heap instead of being mapped and faulted in at every operation.
    constexpr int keptBytes = 1 << 28;
    mallopt(M_MMAP_THRESHOLD, keptBytes);
    mallopt(M_TRIM_THRESHOLD, keptBytes);
}

} // namespace secateur
