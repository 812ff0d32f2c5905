#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace secateur::fuzz {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

/// Damages the bytes in one random way: flips bits, replaces bytes, writes large numbers, copies a block, or cuts off
/// the end.
inline void damage(Bytes& bytes, Random& random) {
    if (bytes.empty())
        return;
    const auto below = [&](std::size_t bound) { return static_cast<std::size_t>(random() % bound); };
    const std::size_t place = below(bytes.size());
    const std::size_t length = std::min(std::size_t{1} << below(7), bytes.size() - place);
    const auto start = bytes.begin() + static_cast<std::ptrdiff_t>(place);
    switch (below(8)) {
    case 0:
        bytes[place] = static_cast<std::uint8_t>(random());
        break;
    case 1:
        std::fill_n(start, std::min<std::size_t>(length, 8), static_cast<std::uint8_t>(random() % 2 == 0 ? 0 : 0xff));
        break;
    case 2:
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() - length + 1)), length, start);
        break;
    case 3:
        if (below(16) == 0)
            bytes.resize(place);
        break;
    case 4:
        bytes[place] = static_cast<std::uint8_t>(bytes[place] + (random() % 2 == 0 ? 1 : 0xff));
        break;
    default:
        bytes[place] = static_cast<std::uint8_t>(bytes[place] ^ (1U << below(8)));
    }
}

/// The damaged copy with number `i` of one of the seeds. Equal numbers give equal copies.
inline Bytes damaged(const std::vector<Bytes>& seeds, std::uint64_t i) {
    Random random(i);
    Bytes bytes = seeds[random() % seeds.size()];
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes)
        damage(bytes, random);
    return bytes;
}

} // namespace secateur::fuzz
