#pragma once

#include <cstdint>

namespace secateur::avx512 {

// The inner loops of rounding.cpp, with AVX-512 instructions for float16 and bfloat16, in one pass over memory.

/// Whether the loops were compiled into this program; otherwise they do nothing. They may be called only on processors
/// with AVX-512 and its bfloat16 instructions.
extern const bool areBuilt;

/// Sums of squares, with a relative error of about 1e-8: each lane adds 16 squares in float32; these partial sums are
/// added in float64.
struct Squares {
    double all = 0;     ///< of the numbers
    double rounded = 0; ///< of the rounded numbers
    double lost = 0;    ///< of the remainders, number minus rounded number
};

/// Rounds `count` numbers to bfloat16 `high`, and the remainders to bfloat16 `low`, unless it is null. Numbers below
/// 2^-126 count as zero.
Squares splitHalf(const std::uint16_t* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low);
Squares splitSingle(const float* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low);

} // namespace secateur::avx512
