#pragma once

/// Before a function with such loops: where the program can choose when it starts, they are compiled for wider vectors
/// too. Without contracted products and sums (-ffp-contract=off) the results are the same on all processors.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SECATEUR_WIDE_LOOPS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SECATEUR_WIDE_LOOPS
#endif
