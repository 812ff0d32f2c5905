#include "backends/export/zeroed_numbers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace secateur {

namespace {

/// Replaces the bits of a byte that `mask` has.
void set(std::byte& target, unsigned mask, unsigned bits) {
    target = (target & ~static_cast<std::byte>(mask)) | static_cast<std::byte>(bits & mask);
}

// Block layouts are explained where quants.cpp unpacks them. Numbers that share a scale are a part of a block.

void partQ2_K(std::byte* block, int part) {
    block[part] = std::byte{0}; // scale and least value
}

/// Scales of Q3_K and IQ4_XS are kept 32 higher than they are.
constexpr unsigned noScale = 32;

void partQ3_K(std::byte* block, int part) {
    std::byte* scales = block + 96;
    const int low = 4 * (part / 8);
    const int high = 2 * (part / 4);
    set(scales[part % 8], 15U << low, (noScale & 15U) << low);
    set(scales[8 + part % 4], 3U << high, noScale >> 4 << high);
}

void numberQ3_K(std::byte* block, int number) {
    const int run = number / 32;
    const int place = number % 32;
    set(block[place], 1U << run, 1U << run); // what is not set takes 4 away
    set(block[32 + 32 * (run / 4) + place], 3U << 2 * (run % 4), 0);
}

/// Q4_K and Q5_K.
void partOfPacked(std::byte* block, int run) {
    std::byte* packed = block + 4;
    constexpr unsigned six = 63;
    if (run < 4) {
        set(packed[run], six, 0);
        set(packed[4 + run], six, 0);
        return;
    }
    packed[4 + run] = std::byte{0};
    set(packed[run - 4], ~six, 0);
    set(packed[run], ~six, 0);
}

void partQ6_K(std::byte* block, int part) {
    block[192 + part] = std::byte{0};
}

void numberQ6_K(std::byte* block, int number) {
    constexpr unsigned middle = 32;
    const int run = number / 32;
    const int place = number % 32;
    const int low = 4 * (run % 4 / 2);
    const int high = 2 * (run % 4);
    set(block[64 * (run / 4) + 32 * (run % 2) + place], 15U << low, (middle & 15U) << low);
    set(block[128 + 32 * (run / 4) + place], 3U << high, middle >> 4 << high);
}

void partIQ4_XS(std::byte* block, int run) {
    const int low = 4 * (run % 2);
    const int high = 2 * (run % 4);
    set(block[4 + run / 2], 15U << low, (noScale & 15U) << low);
    set(block[2 + run / 4], 3U << high, noScale >> 4 << high);
}

void setNibble(std::byte* nibbles, int number, unsigned value) {
    const int shift = number < 16 ? 0 : 4;
    set(nibbles[number % 16], 15U << shift, value << shift);
}

void numberQ4_0(std::byte* block, int number) {
    setNibble(block + 2, number, 8);
}

void numberQ5_0(std::byte* block, int number) {
    setNibble(block + 6, number, 0);
    set(block[2 + number / 8], 1U << number % 8, 1U << number % 8); // the fifth bit alone is 16, which stands for 0
}

void numberQ8_0(std::byte* block, int number) {
    block[2 + number] = std::byte{0};
}

/// How the numbers of a block become 0.
struct Zeroing {
    std::string_view type;
    int part;                                                   ///< numbers that share a scale
    void (*zeroPart)(std::byte* block, int part) = nullptr;     ///< nullptr = the part is the block
    void (*zeroNumber)(std::byte* block, int number) = nullptr; ///< nullptr = no code stands for 0
};

constexpr std::array zeroings{
    Zeroing{"Q4_0", 32, nullptr, numberQ4_0},
    Zeroing{"Q4_1", 32},
    Zeroing{"Q5_0", 32, nullptr, numberQ5_0},
    Zeroing{"Q5_1", 32},
    Zeroing{"Q8_0", 32, nullptr, numberQ8_0},
    Zeroing{"Q2_K", 16, partQ2_K},
    Zeroing{"Q3_K", 16, partQ3_K, numberQ3_K},
    Zeroing{"Q4_K", 32, partOfPacked},
    Zeroing{"Q5_K", 32, partOfPacked},
    Zeroing{"Q6_K", 16, partQ6_K, numberQ6_K},
    Zeroing{"IQ4_NL", 32},
    Zeroing{"IQ4_XS", 32, partIQ4_XS},
};

/// Blocks of another type become 0 as a whole only.
Zeroing zeroingOf(const StorageType& type) {
    const auto found = std::ranges::find(zeroings, type.name, &Zeroing::type);
    return found == zeroings.end() ? Zeroing{type.name, type.elements} : *found;
}

/// Zeros numbers [begin, end) of one block.
void zeroInBlock(const StorageType& type, const Zeroing& zeroing, std::byte* block, int begin, int end) {
    if (begin == 0 && end == type.elements) {
        std::memset(block, 0, static_cast<std::size_t>(type.bytes)); // with it the scale of the whole block
        return;
    }
    for (int number = begin; number < end;) {
        const int part = number / zeroing.part;
        if (zeroing.zeroPart && number % zeroing.part == 0 && number + zeroing.part <= end) {
            zeroing.zeroPart(block, part);
            number += zeroing.part;
        } else {
            zeroing.zeroNumber(block, number++);
        }
    }
}

} // namespace

bool canZero(const StorageType& type, NumberRange range) {
    const Zeroing zeroing = zeroingOf(type);
    return zeroing.zeroNumber || (range.begin % zeroing.part == 0 && range.end % zeroing.part == 0);
}

void zeroNumbers(const StorageType& type, std::span<std::byte> row, NumberRange range) {
    if (type.elements == 1) {
        std::memset(row.data() + range.begin * type.bytes, 0,
                    static_cast<std::size_t>((range.end - range.begin) * type.bytes));
        return;
    }
    const Zeroing zeroing = zeroingOf(type);
    for (std::int64_t number = range.begin; number < range.end;) {
        const std::int64_t block = number / type.elements;
        const std::int64_t end = std::min(range.end, (block + 1) * type.elements);
        zeroInBlock(type, zeroing, row.data() + block * type.bytes, static_cast<int>(number % type.elements),
                    static_cast<int>(end - block * type.elements));
        number = end;
    }
}

} // namespace secateur
