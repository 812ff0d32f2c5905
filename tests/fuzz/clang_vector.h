#pragma once

// A workaround for Clang before version 16 with GCC's standard library. It instantiates constexpr members early, which
// fails for a std::vector of an incomplete type in ATen. This header must be included first. It removes "constexpr"
// from std::vector. It also renames __fill_a1 in <vector>, because another header declares this function as constexpr.

#include <string>

#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_bits
#include <vector>
#undef __fill_a1
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
