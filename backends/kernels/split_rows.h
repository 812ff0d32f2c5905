#pragma once

#include <cstdint>

namespace secateur::avx512 {

// The inner loops of rounding.cpp for float16 and bfloat16, with AVX-512 instructions. They read memory once.

/// Whether the loops were compiled into this program. If not, they do nothing. They may be called only on processors
/// with AVX-512 and its bfloat16 instructions.
extern const bool areBuilt;

/// Sums of squares with a relative error of about 1e-8. Each lane adds 16 squares in float32. These partial sums are
/// added in float64.
struct Squares {
    double all = 0;     ///< sum over the numbers
    double rounded = 0; ///< sum over the rounded numbers
    double lost = 0;    ///< sum over the remainders (number minus rounded number)
};

/// Rounds `count` numbers to bfloat16 in `high`, and their remainders to bfloat16 in `low`, unless `low` is null.
/// Numbers below 2^-126 count as zero.
Squares splitHalf(const std::uint16_t* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low);
Squares splitSingle(const float* from, std::int64_t count, std::uint16_t* high, std::uint16_t* low);

} // namespace secateur::avx512
