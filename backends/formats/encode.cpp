#include "backends/formats/encode.h"

#include "analysis/base/error.h"

#include <c10/util/Half.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace secateur {

static_assert(std::endian::native == std::endian::little, "rows are written in the machine's byte order");

namespace {

// The order of operations and every rounding are those of ggml's reference functions: the reciprocal of the unrounded
// scale multiplies the numbers, and the scale is rounded to F16 at the end. This file is compiled without fused
// multiply-add.

constexpr int smallBlock = 32;
constexpr int half = smallBlock / 2;

/// A function that encodes whole blocks. Returns false if a number has no finite form in the type.
using Encode = bool (*)(const float* source, std::byte* target);

std::uint16_t halfBits(float number) {
    return c10::detail::fp16_ieee_from_fp32_value(number);
}

constexpr std::uint16_t exponentOfHalf = 0x7C00;
constexpr std::uint32_t exponentOfFloat = 0x7F800000;

bool isFiniteHalf(std::uint16_t bits) {
    return (bits & exponentOfHalf) != exponentOfHalf;
}

/// Writes a scale or minimum as F16. Returns false if it is too large.
bool putHalf(float number, std::byte* target) {
    const std::uint16_t bits = halfBits(number);
    std::memcpy(target, &bits, sizeof bits);
    return isFiniteHalf(bits);
}

std::uint32_t magnitudeBits(float number) {
    return std::bit_cast<std::uint32_t>(number) & 0x7FFFFFFFU;
}

/// The bits of the largest magnitude of a block. Bits of magnitudes compare like the numbers; infinities and NaN are
/// the largest.
std::uint32_t largestMagnitude(const float* source) {
    std::uint32_t largest = 0;
    for (int i = 0; i < smallBlock; ++i)
        largest = std::max(largest, magnitudeBits(source[i]));
    return largest;
}

/// The number of a block with the largest magnitude; the first of equals.
float largestNumber(const float* source, std::uint32_t magnitude) {
    int at = 0;
    while (magnitudeBits(source[at]) != magnitude)
        ++at;
    return source[at];
}

float reciprocal(float scale) {
    return scale == 0.F ? 0.F : 1.F / scale;
}

/// Truncates a number to a code in 0..most. The reciprocal of a tiny scale is infinite. The scale then rounds to 0, so
/// that codes have no effect; as in gguf-py they become 0.
int codeOf(float number, int most) {
    return std::isfinite(number) ? std::min(static_cast<int>(number), most) : 0;
}

bool encodeF32(const float* source, std::byte* target) {
    std::memcpy(target, source, sizeof *source);
    return true;
}

bool encodeF16(const float* source, std::byte* target) {
    return putHalf(*source, target);
}

bool encodeBF16(const float* source, std::byte* target) {
    constexpr std::uint32_t quiet = 64U << 16U;
    std::uint32_t bits = std::bit_cast<std::uint32_t>(*source);
    if ((bits & 0x7FFFFFFFU) > exponentOfFloat)
        bits = (bits & 0xFFFF0000U) | quiet;
    else
        bits += 0x7FFFU + ((bits >> 16U) & 1U); // to nearest, ties to even
    const auto upper = static_cast<std::uint16_t>(bits >> 16U);
    std::memcpy(target, &upper, sizeof upper);
    return true;
}

/// Layout: scale; 32 signed codes.
bool encodeQ8_0(const float* source, std::byte* target) {
    const std::uint32_t largest = largestMagnitude(source);
    if (largest >= exponentOfFloat)
        return false;
    const float scale = std::bit_cast<float>(largest) / 127.F;
    const float factor = reciprocal(scale);
    if (!std::isfinite(factor)) {
        std::fill_n(target, 2 + smallBlock, std::byte{0});
        return putHalf(scale, target);
    }
    std::array<std::int32_t, smallBlock> codes;
    for (int i = 0; i < smallBlock; ++i) {
        // To nearest, ties away from zero. Nothing here exceeds 128, so that whole numbers are exact.
        const float scaled = source[i] * factor;
        const float magnitude = std::fabs(scaled);
        const auto whole = static_cast<std::int32_t>(magnitude);
        const auto rounded = whole + static_cast<std::int32_t>(2.F * (magnitude - static_cast<float>(whole)));
        codes[static_cast<std::size_t>(i)] = scaled < 0.F ? -rounded : rounded;
    }
    for (int i = 0; i < smallBlock; ++i)
        target[2 + i] = static_cast<std::byte>(codes[static_cast<std::size_t>(i)] & 0xFF);
    return putHalf(scale, target);
}

using Codes = std::array<std::int32_t, smallBlock>;

/// Writes the low nibbles of codes: the first half of the block in the low bits, the second half in the high bits.
void putNibbles(const Codes& codes, std::byte* target) {
    for (int i = 0; i < half; ++i) {
        const auto low = codes[static_cast<std::size_t>(i)] & 15;
        const auto high = codes[static_cast<std::size_t>(i + half)] & 15;
        target[i] = static_cast<std::byte>(low | high << 4);
    }
}

/// Writes the fifth bits of codes.
void putFifthBits(const Codes& codes, std::byte* target) {
    std::uint32_t bits = 0;
    for (int i = 0; i < smallBlock; ++i)
        bits |= (static_cast<std::uint32_t>(codes[static_cast<std::size_t>(i)]) >> 4U & 1U) << static_cast<unsigned>(i);
    std::memcpy(target, &bits, sizeof bits);
}

/// Codes of a type with a scale only: 0..2*middle-1. Returns false if a number is not finite.
bool symmetricCodes(const float* source, int middle, float& scale, Codes& codes) {
    const std::uint32_t largest = largestMagnitude(source);
    if (largest >= exponentOfFloat)
        return false;
    scale = largestNumber(source, largest) / static_cast<float>(-middle);
    const float factor = reciprocal(scale);
    const float shift = static_cast<float>(middle) + 0.5F;
    for (int i = 0; i < smallBlock; ++i)
        codes[static_cast<std::size_t>(i)] = codeOf(source[i] * factor + shift, 2 * middle - 1);
    return true;
}

/// Codes of a type with a scale and a minimum: 0..most. Returns false if a number or the range is not finite.
bool offsetCodes(const float* source, int most, float& scale, float& least, Codes& codes) {
    if (largestMagnitude(source) >= exponentOfFloat)
        return false;
    const auto [smallest, largest] = std::minmax_element(source, source + smallBlock);
    least = *smallest;
    scale = (*largest - least) / static_cast<float>(most);
    const float factor = reciprocal(scale);
    for (int i = 0; i < smallBlock; ++i)
        codes[static_cast<std::size_t>(i)] = codeOf((source[i] - least) * factor + 0.5F, most);
    return true;
}

/// Layout: scale; nibbles.
bool encodeQ4_0(const float* source, std::byte* target) {
    float scale = 0;
    Codes codes;
    if (!symmetricCodes(source, 8, scale, codes))
        return false;
    putNibbles(codes, target + 2);
    return putHalf(scale, target);
}

/// Layout: scale; minimum; nibbles.
bool encodeQ4_1(const float* source, std::byte* target) {
    float scale = 0;
    float least = 0;
    Codes codes;
    if (!offsetCodes(source, 15, scale, least, codes))
        return false;
    putNibbles(codes, target + 4);
    return putHalf(scale, target) && putHalf(least, target + 2);
}

/// Layout: scale; fifth bits; nibbles.
bool encodeQ5_0(const float* source, std::byte* target) {
    float scale = 0;
    Codes codes;
    if (!symmetricCodes(source, 16, scale, codes))
        return false;
    putFifthBits(codes, target + 2);
    putNibbles(codes, target + 6);
    return putHalf(scale, target);
}

/// Layout: scale; minimum; fifth bits; nibbles.
bool encodeQ5_1(const float* source, std::byte* target) {
    float scale = 0;
    float least = 0;
    Codes codes;
    if (!offsetCodes(source, 31, scale, least, codes))
        return false;
    putFifthBits(codes, target + 4);
    putNibbles(codes, target + 8);
    return putHalf(scale, target) && putHalf(least, target + 2);
}

struct Encoder {
    std::string_view name; ///< of the type, in GGUF and in safetensors
    std::uint32_t ggufNumber;
    Encode encode; ///< encodes one block
};

constexpr std::array encoders{
    Encoder{"F32", 0, encodeF32},   Encoder{"F16", 1, encodeF16},   Encoder{"BF16", 30, encodeBF16},
    Encoder{"Q8_0", 8, encodeQ8_0}, Encoder{"Q4_0", 2, encodeQ4_0}, Encoder{"Q4_1", 3, encodeQ4_1},
    Encoder{"Q5_0", 6, encodeQ5_0}, Encoder{"Q5_1", 7, encodeQ5_1},
};

const Encoder* encoderOf(const StorageType& type) {
    const auto found = std::ranges::find(encoders, type.name, &Encoder::name);
    return found == encoders.end() ? nullptr : &*found;
}

/// Reports the number of a block that cannot be encoded: the first that is not finite, otherwise the largest.
[[noreturn]] void refuse(const StorageType& type, std::span<const float> block, std::size_t begin) {
    const auto infinite = std::ranges::find_if(block, [](float number) { return !std::isfinite(number); });
    const auto largest = std::ranges::max_element(block, {}, magnitudeBits);
    const auto at = infinite == block.end() ? largest : infinite;
    const std::size_t position = begin + static_cast<std::size_t>(at - block.begin());
    throw Error(infinite == block.end()
                    ? fmt::format("number {} of the row, {}, is too large for the type {}", position, *at, type.name)
                    : fmt::format("number {} of the row is {}, which the type {} cannot store", position,
                                  std::isnan(*at) ? "NaN" : "infinite", type.name));
}

} // namespace

std::vector<const StorageType*> encodableTypes() {
    std::vector<const StorageType*> types;
    for (const Encoder& encoder : encoders)
        types.push_back(ggufType(encoder.ggufNumber));
    return types;
}

std::string encodableTypeNames() {
    std::string names;
    for (const Encoder& encoder : encoders)
        names.append(names.empty() ? "" : ", ").append(encoder.name);
    return names;
}

bool canEncode(const StorageType& type) {
    return encoderOf(type) != nullptr;
}

void encodeRow(const StorageType& type, std::span<const float> numbers, std::span<std::byte> target) {
    const Encoder* encoder = encoderOf(type);
    if (!encoder)
        throw Error(fmt::format("the type {} cannot be written; supported are {}", type.name, encodableTypeNames()));
    const auto elements = static_cast<std::size_t>(type.elements);
    const auto bytes = static_cast<std::size_t>(type.bytes);
    if (numbers.size() % elements != 0 || target.size() != numbers.size() / elements * bytes)
        throw Error(fmt::format("a row of {} numbers does not fit {} bytes of the type {}", numbers.size(),
                                target.size(), type.name));
    for (std::size_t block = 0; block < numbers.size() / elements; ++block) {
        if (!encoder->encode(numbers.data() + block * elements, target.data() + block * bytes))
            refuse(type, numbers.subspan(block * elements, elements), block * elements);
    }
}

} // namespace secateur
