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

/// Whether this is a processor of the kind for which the limits of rounding in the tests were chosen: Intel's with
/// AVX-512. On others (seen on Zen 5) products round differently, and masked models and their exports differ more.
inline bool roundsAsExpected() {
#if defined(__x86_64__)
    return roundsAlikeInAllBatches() && __builtin_cpu_is("intel");
#else
    return false;
#endif
}

} // namespace secateur::test
