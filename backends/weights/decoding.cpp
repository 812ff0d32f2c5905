#include "backends/weights/decoding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>

namespace secateur {

namespace {

/// Converts numbers that may lie at any address.
template <typename Stored, typename Convert>
void convert(const std::byte* source, std::span<float> target, Convert convertOne) {
    for (std::size_t i = 0; i < target.size(); ++i) {
        Stored stored;
        std::memcpy(&stored, source + i * sizeof stored, sizeof stored);
        target[i] = convertOne(stored);
    }
}

template <typename Stored>
void convertPlainly(const std::byte* source, std::span<float> target) {
    convert<Stored>(source, target, [](Stored stored) { return static_cast<float>(stored); });
}

/// A float16 number without branches, so that the loop is vectorised. The exponent is moved to its place in float32,
/// and subnormal numbers become normal by a multiplication; infinity and NaN keep all bits of the exponent set.
float fromHalf(std::uint16_t bits) {
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16;
    const std::uint32_t magnitude = bits & 0x7FFFU;
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
    const std::uint32_t special = std::uint32_t{0} - static_cast<std::uint32_t>(magnitude >= 0x7C00U);
    const std::uint32_t value = std::bit_cast<std::uint32_t>(scaled) | (special & 0x7F800000U);
    return std::bit_cast<float>(sign | value);
}

float fromBfloat16(std::uint16_t bits) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

/// Calls `unpack` for a run of blocks that covers the numbers, and copies the numbers of the first and the last block
/// that are asked for. @param unpack (first block, blocks, target)
template <typename Unpack>
void unpackRun(std::int64_t elements, std::int64_t begin, std::span<float> target, Unpack unpack) {
    constexpr std::size_t mostElements = 256; // of a block
    std::array<float, mostElements> block;
    std::size_t done = 0;
    while (done < target.size()) {
        const std::int64_t place = begin + static_cast<std::int64_t>(done);
        const std::int64_t first = place / elements;
        const std::int64_t skipped = place % elements;
        const auto left = static_cast<std::int64_t>(target.size() - done);
        if (skipped == 0 && left >= elements) {
            const std::int64_t blocks = left / elements;
            unpack(first, blocks, target.data() + done);
            done += static_cast<std::size_t>(blocks * elements);
            continue;
        }
        unpack(first, std::int64_t{1}, block.data());
        const std::int64_t count = std::min(elements - skipped, left);
        std::copy_n(block.data() + skipped, count, target.data() + done);
        done += static_cast<std::size_t>(count);
    }
}

} // namespace

void decode(const TensorEntry& entry, std::int64_t begin, std::span<float> target) {
    using enum StorageType::Reading;
    const std::byte* const source = entry.data.data() + begin * entry.type->bytes;
    switch (entry.type->reading) {
    case float32:
        std::memcpy(target.data(), source, target.size_bytes());
        return;
    case float16:
        return convert<std::uint16_t>(source, target, fromHalf);
    case bfloat16:
        return convert<std::uint16_t>(source, target, fromBfloat16);
    case float64:
        return convertPlainly<double>(source, target);
    case int64:
        return convertPlainly<std::int64_t>(source, target);
    case int32:
        return convertPlainly<std::int32_t>(source, target);
    case int16:
        return convertPlainly<std::int16_t>(source, target);
    case int8:
        return convertPlainly<std::int8_t>(source, target);
    case uint8:
        return convertPlainly<std::uint8_t>(source, target);
    case boolean:
        return convert<std::uint8_t>(source, target, [](std::uint8_t stored) { return stored == 0 ? 0.0F : 1.0F; });
    case dequantised:
        return decodePart(entry, BlockPart::values, begin, target);
    case unsupported:
        break;
    }
    throw std::logic_error("a type that cannot be decoded");
}

void decodePart(const TensorEntry& entry, BlockPart part, std::int64_t begin, std::span<float> target) {
    const StorageType& type = *entry.type;
    unpackRun(type.elements, begin, target, [&](std::int64_t first, std::int64_t blocks, float* numbers) {
        unpackPart(type, part, entry.data.data() + first * type.bytes, blocks, numbers);
    });
}

int symbolParts(const StorageType& type) {
    if (type.reading == StorageType::Reading::unsupported)
        return 0;
    return type.reading == StorageType::Reading::dequantised ? 1 : (type.bytes + 1) / 2;
}

int symbolKinds(const StorageType& type) {
    const bool isByte = type.reading == StorageType::Reading::dequantised || type.bytes == 1;
    return isByte ? 256 : 65536;
}

std::vector<float> symbolNumbers(const StorageType& type) {
    if (type.reading == StorageType::Reading::dequantised || symbolParts(type) != 1)
        return {};
    std::vector<std::byte> stored;
    for (int symbol = 0; symbol < symbolKinds(type); ++symbol)
        for (int byte = 0; byte < type.bytes; ++byte)
            stored.push_back(static_cast<std::byte>(symbol >> 8 * byte & 0xFF));
    std::vector<float> numbers(static_cast<std::size_t>(symbolKinds(type)));
    TensorEntry all;
    all.type = &type;
    all.data = stored;
    decode(all, 0, numbers);
    return numbers;
}

void decodeSymbols(const TensorEntry& entry, std::int64_t begin, int part, std::span<std::uint16_t> target) {
    const StorageType& type = *entry.type;
    if (type.reading == StorageType::Reading::dequantised) {
        constexpr int leastCode = -128; // of all types
        std::array<float, 1024> codes;
        for (std::size_t done = 0; done < target.size(); done += codes.size()) {
            const std::size_t count = std::min(codes.size(), target.size() - done);
            decodePart(entry, BlockPart::codes, begin + static_cast<std::int64_t>(done), {codes.data(), count});
            for (std::size_t i = 0; i < count; ++i)
                target[done + i] = static_cast<std::uint16_t>(static_cast<int>(codes[i]) - leastCode);
        }
        return;
    }
    const auto stride = static_cast<std::size_t>(type.bytes);
    const std::byte* source = entry.data.data() + static_cast<std::size_t>(begin) * stride;
    if (stride == 1) {
        for (std::size_t i = 0; i < target.size(); ++i)
            target[i] = std::to_integer<std::uint16_t>(source[i]);
        return;
    }
    source += std::size_t{2} * static_cast<std::size_t>(part);
    for (std::size_t i = 0; i < target.size(); ++i)
        std::memcpy(&target[i], source + i * stride, sizeof target[i]);
}

} // namespace secateur
