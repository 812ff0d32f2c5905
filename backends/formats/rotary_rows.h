#pragma once

#include <cstdint>

namespace secateur {

/// The index of a row of queries or keys in a file that stores the two rows of a rotary pair together: row j * size / 2
/// + i of a head is row 2 i + j there. @param row counted over all heads @param size rows of a head, even
inline std::int64_t pairedRow(std::int64_t row, std::int64_t size) {
    const std::int64_t head = row / size * size;
    const std::int64_t half = size / 2;
    return head + 2 * ((row - head) % half) + (row - head) / half;
}

} // namespace secateur
