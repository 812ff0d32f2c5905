#pragma once

#include <cstdint>

namespace secateur::avx512 {

// The inner loops of rounding by the AVX-512 instructions for float16 and bfloat16, in one pass. rounding.cpp calls
// them.

/// Whether the loops were compiled into this program; otherwise they do nothing. Only processors with AVX-512 and its
/// bfloat16 instructions run them.
extern const bool areBuilt;

/// Sums of squares in float64, but 16 numbers of a lane at a time in float32: an error of 1e-9.
struct Squares {
    double all = 0;     ///< of the numbers
    double rounded = 0; ///< of their upper halves
    double lost = 0;    ///< of the remainders
};

/// Rounds `count` numbers to bfloat16 `high`, and the remainders to bfloat16 `low`, unless it is null. Numbers below
/// 2^-126 count as zero.
Squares splitHalf(const std::uint16_t* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low);
Squares splitSingle(const float* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low);

} // namespace secateur::avx512
