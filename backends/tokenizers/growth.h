#pragma once

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <cstddef>

namespace secateur {

// For sources only: pulls in fmt.

/// Maximum size of what all steps of a tokenizer together make of `size` bytes or tokens. The files of a tokenizer can
/// ask for any growth: ten replacements of a letter by ten letters make 10 GB of one byte. Unicode's normal forms need
/// at most 11 bytes for one, and twice as many as letters of GPT-2's alphabet.
constexpr std::size_t growthLimit(std::size_t size) {
    return 32 * size + 256;
}

/// @param size before the first step @param unit "bytes" or "tokens" @throws Error always
[[noreturn]] inline void refuseGrowth(std::size_t size, const char* unit) {
    throw Error(fmt::format("grows in the tokenizer from {} to more than {} {}, the limit", size, growthLimit(size), unit),
                "the text", "Look for replacements in the tokenizer's file");
}

} // namespace secateur
