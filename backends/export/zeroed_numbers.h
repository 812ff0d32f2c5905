#pragma once

#include "backends/formats/quants.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace secateur {

/// The numbers [begin, end) of a matrix row.
struct NumberRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Whether numbers of a row can be set to exactly 0 without changing a bit of the others. In a plain type, any numbers
/// can. In a quantised type, all numbers that share a scale can; single numbers can if the type has a code for 0.
bool canZero(const StorageType& type, NumberRange range);

/// Sets numbers to 0. @param row stored bytes of the row @param range numbers for which canZero() is true
void zeroNumbers(const StorageType& type, std::span<std::byte> row, NumberRange range);

} // namespace secateur
