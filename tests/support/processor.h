#pragma once

namespace secateur::test {

/// Whether results of the same sums in batches of other sizes are equal to the last bit. The products for processors
/// without AVX-512 round them differently.
inline bool roundsAlikeInAllBatches() {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") != 0;
#else
    return false;
#endif
}

} // namespace secateur::test
