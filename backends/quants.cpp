#include "backends/quants.h"

#include <ATen/Parallel.h>
#include <c10/util/Half.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace secateur {

static_assert(std::endian::native == std::endian::little, "checkpoints are little-endian and viewed in place");

namespace {

float halfAt(const std::byte* source) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, source, sizeof bits);
    return c10::detail::fp16_ieee_to_fp32_value(bits);
}

int unsignedAt(const std::byte* source) {
    return std::to_integer<int>(*source);
}
int signedAt(const std::byte* source) {
    return static_cast<std::int8_t>(std::to_integer<std::uint8_t>(*source));
}

// Block layouts are those of ggml: the scale comes first, except in Q6_K; 4-bit blocks keep their first half in the low
// nibbles and their second half in the high ones.

constexpr int smallBlock = 32;

void unpackQ8_0(const std::byte* source, std::int64_t blocks, float* target) {
    constexpr int bytes = 2 + smallBlock;
    for (std::int64_t block = 0; block < blocks; ++block, source += bytes, target += smallBlock) {
        const float scale = halfAt(source);
        for (int i = 0; i < smallBlock; ++i)
            target[i] = scale * static_cast<float>(signedAt(source + 2 + i));
    }
}

void unpackQ4_0(const std::byte* source, std::int64_t blocks, float* target) {
    constexpr int half = smallBlock / 2;
    for (std::int64_t block = 0; block < blocks; ++block, source += 2 + half, target += smallBlock) {
        const float scale = halfAt(source);
        for (int i = 0; i < half; ++i) {
            const int pair = unsignedAt(source + 2 + i);
            target[i] = scale * static_cast<float>((pair & 15) - 8);
            target[i + half] = scale * static_cast<float>((pair >> 4) - 8);
        }
    }
}

void unpackQ4_1(const std::byte* source, std::int64_t blocks, float* target) {
    constexpr int half = smallBlock / 2;
    for (std::int64_t block = 0; block < blocks; ++block, source += 4 + half, target += smallBlock) {
        const float scale = halfAt(source);
        const float least = halfAt(source + 2);
        for (int i = 0; i < half; ++i) {
            const int pair = unsignedAt(source + 4 + i);
            target[i] = scale * static_cast<float>(pair & 15) + least;
            target[i + half] = scale * static_cast<float>(pair >> 4) + least;
        }
    }
}

/// 256 numbers of 6 bits: low nibbles [128], upper two bits [64], a signed scale for each 16 numbers [16], the scale.
/// Each half block of 128 numbers is four runs of 32: run r takes its nibbles from byte row r % 2, low ones for r < 2,
/// and bits 2r and 2r+1 of the upper bytes.
void unpackQ6_K(const std::byte* source, std::int64_t blocks, float* target) {
    constexpr int bytes = 128 + 64 + 16 + 2;
    for (std::int64_t block = 0; block < blocks; ++block, source += bytes, target += 256) {
        const float scale = halfAt(source + 208);
        for (int run = 0; run < 8; ++run) {
            const int half = run / 4;
            const std::byte* low = source + 64 * half + 32 * (run % 2);
            const std::byte* high = source + 128 + 32 * half;
            const int lowShift = run % 4 < 2 ? 0 : 4;
            const int highShift = 2 * (run % 4);
            for (int i = 0; i < 32; ++i) {
                const int value =
                    ((unsignedAt(low + i) >> lowShift) & 15) | (((unsignedAt(high + i) >> highShift) & 3) << 4);
                const float runScale = scale * static_cast<float>(signedAt(source + 192 + 2 * run + i / 16));
                target[32 * run + i] = runScale * static_cast<float>(value - 32);
            }
        }
    }
}

using enum StorageType::Reading;

constexpr std::array ggufTypes{
    StorageType{"F32", 0, 1, 4, float32},
    StorageType{"F16", 1, 1, 2, float16},
    StorageType{"Q4_0", 2, 32, 18, dequantised, unpackQ4_0},
    StorageType{"Q4_1", 3, 32, 20, dequantised, unpackQ4_1},
    StorageType{"Q5_0", 6, 32, 22, unsupported},
    StorageType{"Q5_1", 7, 32, 24, unsupported},
    StorageType{"Q8_0", 8, 32, 34, dequantised, unpackQ8_0},
    StorageType{"Q2_K", 10, 256, 84, unsupported},
    StorageType{"Q3_K", 11, 256, 110, unsupported},
    StorageType{"Q4_K", 12, 256, 144, unsupported},
    StorageType{"Q5_K", 13, 256, 176, unsupported},
    StorageType{"Q6_K", 14, 256, 210, dequantised, unpackQ6_K},
    StorageType{"IQ2_XXS", 16, 256, 66, unsupported},
    StorageType{"IQ2_XS", 17, 256, 74, unsupported},
    StorageType{"IQ3_XXS", 18, 256, 98, unsupported},
    StorageType{"IQ1_S", 19, 256, 50, unsupported},
    StorageType{"IQ4_NL", 20, 32, 18, unsupported},
    StorageType{"IQ3_S", 21, 256, 110, unsupported},
    StorageType{"IQ2_S", 22, 256, 82, unsupported},
    StorageType{"IQ4_XS", 23, 256, 136, unsupported},
    StorageType{"I8", 24, 1, 1, unsupported},
    StorageType{"I16", 25, 1, 2, unsupported},
    StorageType{"I32", 26, 1, 4, unsupported},
    StorageType{"I64", 27, 1, 8, unsupported},
    StorageType{"F64", 28, 1, 8, unsupported},
    StorageType{"IQ1_M", 29, 256, 56, unsupported},
    StorageType{"BF16", 30, 1, 2, bfloat16},
    StorageType{"TQ1_0", 34, 256, 54, unsupported},
    StorageType{"TQ2_0", 35, 256, 66, unsupported},
    StorageType{"MXFP4", 39, 32, 17, unsupported},
    StorageType{"NVFP4", 40, 64, 36, unsupported},
    StorageType{"Q1_0", 41, 128, 18, unsupported},
};

constexpr std::array safetensorsTypes{
    StorageType{"F32", -1, 1, 4, float32},         StorageType{"F16", -1, 1, 2, float16},
    StorageType{"BF16", -1, 1, 2, bfloat16},       StorageType{"F64", -1, 1, 8, unsupported},
    StorageType{"I64", -1, 1, 8, unsupported},     StorageType{"U64", -1, 1, 8, unsupported},
    StorageType{"I32", -1, 1, 4, unsupported},     StorageType{"U32", -1, 1, 4, unsupported},
    StorageType{"I16", -1, 1, 2, unsupported},     StorageType{"U16", -1, 1, 2, unsupported},
    StorageType{"I8", -1, 1, 1, unsupported},      StorageType{"U8", -1, 1, 1, unsupported},
    StorageType{"BOOL", -1, 1, 1, unsupported},    StorageType{"F8_E4M3", -1, 1, 1, unsupported},
    StorageType{"F8_E5M2", -1, 1, 1, unsupported}, StorageType{"F8_E8M0", -1, 1, 1, unsupported},
    StorageType{"C64", -1, 1, 8, unsupported},     StorageType{"F4", -1, 2, 1, unsupported},
};

} // namespace

const StorageType* ggufType(std::uint32_t number) {
    const auto found = std::ranges::find(ggufTypes, static_cast<std::int64_t>(number), &StorageType::ggufNumber);
    return found == ggufTypes.end() ? nullptr : &*found;
}

const StorageType* safetensorsType(std::string_view name) {
    const auto found = std::ranges::find(safetensorsTypes, name, &StorageType::name);
    return found == safetensorsTypes.end() ? nullptr : &*found;
}

void dequantise(const StorageType& type, std::span<const std::byte> source, std::span<float> target) {
    constexpr std::int64_t elementsPerTask = 1 << 16;
    const auto blocks = static_cast<std::int64_t>(source.size()) / type.bytes;
    at::parallel_for(0, blocks, elementsPerTask / type.elements, [&](std::int64_t begin, std::int64_t end) {
        type.unpack(source.data() + begin * type.bytes, end - begin, target.data() + begin * type.elements);
    });
}

} // namespace secateur
