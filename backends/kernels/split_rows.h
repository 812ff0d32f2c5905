#pragma once

#include <cstdint>

namespace secateur::avx512 {

// Rounding by the instructions of Intel's processors for float16 and bfloat16, in one pass. The inner loops alone;
// rounding.h has what calls them.

/// Whether this program holds them; where it does not, they do nothing. Only processors with AVX-512 and its
/// instructions for bfloat16 can run them.
extern const bool areBuilt;

/// Of some numbers, of their upper halves, and of what those lose of them. Summed in float64, but for 16 numbers of a
/// lane at a time: 1e-9 of the sum.
struct Squares {
    double all = 0;
    double rounded = 0;
    double lost = 0;
};

/// Rounds `count` numbers to bfloat16, and what that leaves of them to `low`, if there is one. Numbers below 2^-126
/// count as zero.
Squares splitHalf(const std::uint16_t* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low);
Squares splitSingle(const float* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low);

} // namespace secateur::avx512
