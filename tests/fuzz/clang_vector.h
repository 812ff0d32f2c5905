#pragma once

// Clang before 16 instantiates constexpr members early, which fails for ATen's std::vector of an incomplete type with
// GCC's library. Included before everything else, this removes "constexpr" from std::vector; the function of its header
// that is declared constexpr elsewhere is renamed.

#include <string>

#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#define __fill_a1 __fill_bits
#include <vector>
#undef __fill_a1
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
