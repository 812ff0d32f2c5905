#pragma once

#include "analysis/base/error.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>

namespace secateur {

// For sources only: pulls in fmt.

/// A text that grows too much in a tokenizer's steps. The tokenizer adds the file that defines them.
class GrowthError : public Error {
public:
    /// @param size of the text before the first step @param unit "bytes" or "tokens"
    GrowthError(std::size_t size, const char* unit);
};

/// Maximum size of what all steps of a tokenizer together make of `size` bytes or tokens. The files of a tokenizer can
/// ask for any growth: ten replacements of a letter by ten letters make 10 GB of one byte. Unicode's normal forms need
/// at most 11 bytes for one, and twice as many as letters of GPT-2's alphabet.
constexpr std::size_t growthLimit(std::size_t size) {
    return 32 * size + 256;
}

inline GrowthError::GrowthError(std::size_t size, const char* unit)
    : Error(fmt::format("makes more than {} {} of {}, the limit: its replacements grow without bound",
                        growthLimit(size), unit, size)) {}

} // namespace secateur
