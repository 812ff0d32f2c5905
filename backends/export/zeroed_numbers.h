#pragma once

#include "backends/formats/quants.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace secateur {

/// Numbers [begin, end) of a row.
struct NumberRange {
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

/// Whether numbers of a row can become exactly 0 while all others keep their bits: those of a plain type; of a
/// quantised one all that share a scale, and single ones where the type has a code for 0.
bool canZero(const StorageType& type, NumberRange range);

/// Sets them to 0. @param row as it is stored @param range one that canZero()
void zeroNumbers(const StorageType& type, std::span<std::byte> row, NumberRange range);

} // namespace secateur
