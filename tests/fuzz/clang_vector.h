#pragma once

// Clang before 16 instantiates constexpr members early, which ATen's std::vector of a type that is still incomplete
// does not survive with GCC's library. Included before everything else, this takes "constexpr" from std::vector alone;
// the one function of its header that was promised as constexpr elsewhere goes by another name.

#include <string>

#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_bits
#include <vector>
#undef __fill_a1
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
