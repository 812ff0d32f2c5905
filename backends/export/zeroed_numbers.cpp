#include "backends/export/zeroed_numbers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace secateur {

namespace {

/// Sets the bits of `target` that `mask` selects to those of `bits`.
void setBits(std::byte& target, unsigned mask, unsigned bits) {
    target = (target & ~static_cast<std::byte>(mask)) | static_cast<std::byte>(bits & mask);
}

// The block layouts are explained in quants.cpp. In this file, a part of a block is the set of numbers that share a
// scale.

void partQ2_K(std::byte* block, int part) {
    block[part] = std::byte{0}; // the byte contains the scale and the minimum of the part
}

/// The stored code of the scale 0. Scales of Q3_K and IQ4_XS are stored with an offset of 32.
constexpr unsigned noScale = 32;

void partQ3_K(std::byte* block, int part) {
    std::byte* scales = block + 96;
    const int low = 4 * (part / 8);
    const int high = 2 * (part / 4);
    setBits(scales[part % 8], 15U << low, (noScale & 15U) << low);
    setBits(scales[8 + part % 4], 3U << high, noScale >> 4 << high);
}

void numberQ3_K(std::byte* block, int number) {
    const int run = number / 32;
    const int place = number % 32;
    setBits(block[place], 1U << run, 1U << run); // 4 is subtracted from numbers whose bit is 0
    setBits(block[32 + 32 * (run / 4) + place], 3U << 2 * (run % 4), 0);
}

/// Sets a part of a Q4_K or Q5_K block to 0.
void partOfPacked(std::byte* block, int run) {
    std::byte* packed = block + 4;
    constexpr unsigned six = 63;
    if (run < 4) {
        setBits(packed[run], six, 0);
        setBits(packed[4 + run], six, 0);
        return;
    }
    packed[4 + run] = std::byte{0};
    setBits(packed[run - 4], ~six, 0);
    setBits(packed[run], ~six, 0);
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
    setBits(block[64 * (run / 4) + 32 * (run % 2) + place], 15U << low, (middle & 15U) << low);
    setBits(block[128 + 32 * (run / 4) + place], 3U << high, middle >> 4 << high);
}

void partIQ4_XS(std::byte* block, int run) {
    const int low = 4 * (run % 2);
    const int high = 2 * (run % 4);
    setBits(block[4 + run / 2], 15U << low, (noScale & 15U) << low);
    setBits(block[2 + run / 4], 3U << high, noScale >> 4 << high);
}

void setNibble(std::byte* nibbles, int number, unsigned value) {
    const int shift = number < 16 ? 0 : 4;
    setBits(nibbles[number % 16], 15U << shift, value << shift);
}

void numberQ4_0(std::byte* block, int number) {
    setNibble(block + 2, number, 8);
}

void numberQ5_0(std::byte* block, int number) {
    setNibble(block + 6, number, 0);
    setBits(block[2 + number / 8], 1U << number % 8, 1U << number % 8); // sets the fifth bit only: code 16 stands for 0
}

void numberQ8_0(std::byte* block, int number) {
    block[2 + number] = std::byte{0};
}

/// How numbers of a block type are set to 0.
struct Zeroing {
    std::string_view type;
    int part;                                                   ///< number of numbers that share a scale
    void (*zeroPart)(std::byte* block, int part) = nullptr;     ///< null = all numbers of a block share one scale
    void (*zeroNumber)(std::byte* block, int number) = nullptr; ///< null = the type has no code for 0
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

/// The table row for a type. A type without a row can only be set to 0 in whole blocks.
Zeroing zeroingOf(const StorageType& type) {
    const auto found = std::ranges::find(zeroings, type.name, &Zeroing::type);
    return found == zeroings.end() ? Zeroing{type.name, type.elements} : *found;
}

/// Sets the numbers [begin, end) of a block to 0.
void zeroInBlock(const StorageType& type, const Zeroing& zeroing, std::byte* block, int begin, int end) {
    if (begin == 0 && end == type.elements) {
        std::memset(block, 0, static_cast<std::size_t>(type.bytes)); // also clears the scale of the block
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
