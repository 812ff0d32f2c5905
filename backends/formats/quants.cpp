#include "backends/formats/quants.h"

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

// Block layouts are those of ggml. A block of 32 begins with its scale (and minimum). Low nibbles contain the first
// half of the numbers, high nibbles the second half. A block of 256 consists of eight runs of 32 numbers. The bits of
// several runs share 32 bytes; a shift selects a run. As in gguf-py, the block's scale is first multiplied by the run's
// scale, and the product by the number, which gives the same bits.

constexpr int smallBlock = 32;
constexpr int half = smallBlock / 2;
constexpr int largeBlock = 256;
constexpr int runs = largeBlock / smallBlock;

void unpackQ8_0(const std::byte* source, std::int64_t blocks, float* __restrict target) {
    constexpr int bytes = 2 + smallBlock;
    for (std::int64_t block = 0; block < blocks; ++block, source += bytes, target += smallBlock) {
        const float scale = halfAt(source);
        for (int i = 0; i < smallBlock; ++i)
            target[i] = scale * static_cast<float>(signedAt(source + 2 + i));
    }
}

void unpackQ4_0(const std::byte* source, std::int64_t blocks, float* __restrict target) {
    for (std::int64_t block = 0; block < blocks; ++block, source += 2 + half, target += smallBlock) {
        const float scale = halfAt(source);
        for (int i = 0; i < half; ++i) {
            const int pair = unsignedAt(source + 2 + i);
            target[i] = scale * static_cast<float>((pair & 15) - 8);
            target[i + half] = scale * static_cast<float>((pair >> 4) - 8);
        }
    }
}

void unpackQ4_1(const std::byte* source, std::int64_t blocks, float* __restrict target) {
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

/// Unpacks the fifth bits of a block of 32. Each result is 0 or 16.
void fifthBits(const std::byte* source, std::array<int, smallBlock>& bits) {
    std::uint32_t packed = 0;
    std::memcpy(&packed, source, sizeof packed);
    for (int i = 0; i < smallBlock; ++i)
        bits[static_cast<std::size_t>(i)] = static_cast<int>(packed >> i & 1) << 4;
}

void unpackQ5_0(const std::byte* source, std::int64_t blocks, float* __restrict target) {
    std::array<int, smallBlock> high{};
    for (std::int64_t block = 0; block < blocks; ++block, source += 6 + half, target += smallBlock) {
        const float scale = halfAt(source);
        fifthBits(source + 2, high);
        for (std::size_t i = 0; i < half; ++i) {
            const int pair = unsignedAt(source + 6 + i);
            target[i] = scale * static_cast<float>(((pair & 15) | high[i]) - 16);
            target[i + half] = scale * static_cast<float>((pair >> 4 | high[i + half]) - 16);
        }
    }
}

void unpackQ5_1(const std::byte* source, std::int64_t blocks, float* __restrict target) {
    std::array<int, smallBlock> high{};
    for (std::int64_t block = 0; block < blocks; ++block, source += 8 + half, target += smallBlock) {
        const float scale = halfAt(source);
        const float least = halfAt(source + 2);
        fifthBits(source + 4, high);
        for (std::size_t i = 0; i < half; ++i) {
            const int pair = unsignedAt(source + 8 + i);
            target[i] = scale * static_cast<float>((pair & 15) | high[i]) + least;
            target[i + half] = scale * static_cast<float>(pair >> 4 | high[i + half]) + least;
        }
    }
}

/// Layout: 16 pairs of a scale (low nibble) and a minimum (high nibble), each for 16 numbers; 2-bit numbers [64 bytes];
/// the factor of the scales and that of the minima.
void unpackQ2_K(const std::byte* source, std::int64_t blocks, float* __restrict target) {
    constexpr int bytes = 16 + 64 + 4;
    for (std::int64_t block = 0; block < blocks; ++block, source += bytes, target += largeBlock) {
        const float scale = halfAt(source + 80);
        const float leastScale = halfAt(source + 82);
        for (int part = 0; part < 2 * runs; ++part) {
            const int run = part / 2;
            const int both = unsignedAt(source + part);
            const float partScale = scale * static_cast<float>(both & 15);
            const float least = leastScale * static_cast<float>(both >> 4);
            const std::byte* numbers = source + 16 + 32 * (run / 4) + 16 * (part % 2);
            for (int i = 0; i < 16; ++i)
                target[16 * part + i] =
                    partScale * static_cast<float>(unsignedAt(numbers + i) >> 2 * (run % 4) & 3) - least;
        }
    }
}

/// Layout: third bits [32 bytes]; 2-bit numbers [64 bytes]; 16 scales of 6 bits, each for 16 numbers (low nibbles [8
/// bytes], upper bits [4 bytes]); the block's scale. 4 is subtracted from a number whose third bit is 0.
void unpackQ3_K(const std::byte* source, std::int64_t blocks, float* __restrict target) {
    constexpr int bytes = 32 + 64 + 12 + 2;
    for (std::int64_t block = 0; block < blocks; ++block, source += bytes, target += largeBlock) {
        const float scale = halfAt(source + 108);
        const std::byte* scales = source + 96;
        for (int part = 0; part < 2 * runs; ++part) {
            const int run = part / 2;
            const int low = unsignedAt(scales + part % 8) >> 4 * (part / 8) & 15;
            const int high = unsignedAt(scales + 8 + part % 4) >> 2 * (part / 4) & 3;
            const float partScale = scale * static_cast<float>((low | high << 4) - 32);
            const std::byte* numbers = source + 32 + 32 * (run / 4) + 16 * (part % 2);
            const std::byte* thirds = source + 16 * (part % 2);
            for (int i = 0; i < 16; ++i) {
                const int number = unsignedAt(numbers + i) >> 2 * (run % 4) & 3;
                const int third = unsignedAt(thirds + i) >> run & 1;
                target[16 * part + i] = partScale * static_cast<float>(number + 4 * third - 4);
            }
        }
    }
}

struct ScaleAndLeast {
    int scale;
    int least;
};

/// The scale and minimum of a run of Q4_K or Q5_K, six bits each. Those of all runs are packed in twelve bytes. The
/// first eight bytes contain the scales and minima of the first four runs. For the other four runs, the last four bytes
/// contain the low nibbles, and the unused bits of the first eight bytes the upper two bits.
ScaleAndLeast scaleAndLeast(const std::byte* packed, int run) {
    const int scale = unsignedAt(packed + run % 4);
    const int least = unsignedAt(packed + 4 + run % 4);
    if (run < 4)
        return {scale & 63, least & 63};
    const int nibbles = unsignedAt(packed + 8 + run % 4);
    return {(nibbles & 15) | (scale >> 2 & 48), nibbles >> 4 | (least >> 2 & 48)};
}

/// Layout: the factors of scales and of minima; packed scales and minima [12 bytes]; 4-bit numbers [128 bytes].
void unpackQ4_K(const std::byte* source, std::int64_t blocks, float* __restrict target) {
    constexpr int bytes = 4 + 12 + 128;
    for (std::int64_t block = 0; block < blocks; ++block, source += bytes, target += largeBlock) {
        const float scale = halfAt(source);
        const float leastScale = halfAt(source + 2);
        for (int run = 0; run < runs; ++run) {
            const auto packed = scaleAndLeast(source + 4, run);
            const float runScale = scale * static_cast<float>(packed.scale);
            const float least = leastScale * static_cast<float>(packed.least);
            const std::byte* numbers = source + 16 + 32 * (run / 2);
            for (int i = 0; i < smallBlock; ++i)
                target[32 * run + i] =
                    runScale * static_cast<float>(unsignedAt(numbers + i) >> 4 * (run % 2) & 15) - least;
        }
    }
}

/// Layout: like Q4_K, with the fifth bits [32 bytes] before the numbers.
void unpackQ5_K(const std::byte* source, std::int64_t blocks, float* __restrict target) {
    constexpr int bytes = 4 + 12 + 32 + 128;
    for (std::int64_t block = 0; block < blocks; ++block, source += bytes, target += largeBlock) {
        const float scale = halfAt(source);
        const float leastScale = halfAt(source + 2);
        for (int run = 0; run < runs; ++run) {
            const auto packed = scaleAndLeast(source + 4, run);
            const float runScale = scale * static_cast<float>(packed.scale);
            const float least = leastScale * static_cast<float>(packed.least);
            const std::byte* numbers = source + 48 + 32 * (run / 2);
            for (int i = 0; i < smallBlock; ++i) {
                const int low = unsignedAt(numbers + i) >> 4 * (run % 2) & 15;
                const int high = unsignedAt(source + 16 + i) >> run & 1;
                target[32 * run + i] = runScale * static_cast<float>(low | high << 4) - least;
            }
        }
    }
}

/// Layout: low nibbles [128 bytes]; upper two bits [64 bytes]; a signed scale for each 16 numbers [16 bytes]; the
/// block's scale.
void unpackQ6_K(const std::byte* source, std::int64_t blocks, float* __restrict target) {
    constexpr int bytes = 128 + 64 + 16 + 2;
    for (std::int64_t block = 0; block < blocks; ++block, source += bytes, target += largeBlock) {
        const float scale = halfAt(source + 208);
        for (int part = 0; part < 2 * runs; ++part) {
            const int run = part / 2;
            const float partScale = scale * static_cast<float>(signedAt(source + 192 + part));
            const std::byte* lows = source + 64 * (run / 4) + 32 * (run % 2) + 16 * (part % 2);
            const std::byte* highs = source + 128 + 32 * (run / 4) + 16 * (part % 2);
            for (int i = 0; i < 16; ++i) {
                const int low = unsignedAt(lows + i) >> 4 * (run % 4 / 2) & 15;
                const int high = unsignedAt(highs + i) >> 2 * (run % 4) & 3;
                target[16 * part + i] = partScale * static_cast<float>((low | high << 4) - 32);
            }
        }
    }
}

/// The values of the 4-bit codes of the types IQ4_NL and IQ4_XS.
constexpr std::array<float, 16> unevenSteps{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void unpackUneven(const std::byte* source, float scale, float* __restrict target) {
    for (int i = 0; i < half; ++i) {
        const auto pair = std::to_integer<std::size_t>(source[i]);
        target[i] = scale * unevenSteps[pair & 15];
        target[i + half] = scale * unevenSteps[pair >> 4];
    }
}

void unpackIQ4_NL(const std::byte* source, std::int64_t blocks, float* target) {
    for (std::int64_t block = 0; block < blocks; ++block, source += 2 + half, target += smallBlock)
        unpackUneven(source + 2, halfAt(source), target);
}

/// Layout: the block's scale; the upper two bits of the runs' scales [2 bytes]; their low nibbles [4 bytes]; 4-bit
/// numbers [128 bytes], 16 bytes per run.
void unpackIQ4_XS(const std::byte* source, std::int64_t blocks, float* target) {
    constexpr int bytes = 2 + 2 + 4 + 128;
    for (std::int64_t block = 0; block < blocks; ++block, source += bytes, target += largeBlock) {
        const float scale = halfAt(source);
        for (int run = 0; run < runs; ++run) {
            const int low = unsignedAt(source + 4 + run / 2) >> 4 * (run % 2) & 15;
            const int high = unsignedAt(source + 2 + run / 4) >> 2 * (run % 4) & 3;
            const float runScale = scale * static_cast<float>((low | high << 4) - 32);
            unpackUneven(source + 8 + half * run, runScale, target + smallBlock * run);
        }
    }
}

using enum StorageType::Reading;

constexpr std::array ggufTypes{
    StorageType{"F32", 0, 1, 4, float32},
    StorageType{"F16", 1, 1, 2, float16},
    StorageType{"Q4_0", 2, 32, 18, dequantised, unpackQ4_0},
    StorageType{"Q4_1", 3, 32, 20, dequantised, unpackQ4_1},
    StorageType{"Q5_0", 6, 32, 22, dequantised, unpackQ5_0},
    StorageType{"Q5_1", 7, 32, 24, dequantised, unpackQ5_1},
    StorageType{"Q8_0", 8, 32, 34, dequantised, unpackQ8_0},
    StorageType{"Q2_K", 10, 256, 84, dequantised, unpackQ2_K},
    StorageType{"Q3_K", 11, 256, 110, dequantised, unpackQ3_K},
    StorageType{"Q4_K", 12, 256, 144, dequantised, unpackQ4_K},
    StorageType{"Q5_K", 13, 256, 176, dequantised, unpackQ5_K},
    StorageType{"Q6_K", 14, 256, 210, dequantised, unpackQ6_K},
    StorageType{"IQ2_XXS", 16, 256, 66, unsupported},
    StorageType{"IQ2_XS", 17, 256, 74, unsupported},
    StorageType{"IQ3_XXS", 18, 256, 98, unsupported},
    StorageType{"IQ1_S", 19, 256, 50, unsupported},
    StorageType{"IQ4_NL", 20, 32, 18, dequantised, unpackIQ4_NL},
    StorageType{"IQ3_S", 21, 256, 110, unsupported},
    StorageType{"IQ2_S", 22, 256, 82, unsupported},
    StorageType{"IQ4_XS", 23, 256, 136, dequantised, unpackIQ4_XS},
    StorageType{"I8", 24, 1, 1, int8},
    StorageType{"I16", 25, 1, 2, int16},
    StorageType{"I32", 26, 1, 4, int32},
    StorageType{"I64", 27, 1, 8, int64},
    StorageType{"F64", 28, 1, 8, float64},
    StorageType{"IQ1_M", 29, 256, 56, unsupported},
    StorageType{"BF16", 30, 1, 2, bfloat16},
    StorageType{"TQ1_0", 34, 256, 54, unsupported},
    StorageType{"TQ2_0", 35, 256, 66, unsupported},
    StorageType{"MXFP4", 39, 32, 17, unsupported},
    StorageType{"NVFP4", 40, 64, 36, unsupported},
    StorageType{"Q1_0", 41, 128, 18, unsupported},
};

constexpr std::array safetensorsTypes{
    StorageType{"F32", -1, 1, 4, float32},
    StorageType{"F16", -1, 1, 2, float16},
    StorageType{"BF16", -1, 1, 2, bfloat16},
    StorageType{"F64", -1, 1, 8, float64},
    StorageType{"I64", -1, 1, 8, int64},
    StorageType{"U64", -1, 1, 8, unsupported},
    StorageType{"I32", -1, 1, 4, int32},
    StorageType{"U32", -1, 1, 4, unsupported},
    StorageType{"I16", -1, 1, 2, int16},
    StorageType{"U16", -1, 1, 2, unsupported},
    StorageType{"I8", -1, 1, 1, int8},
    StorageType{"U8", -1, 1, 1, uint8},
    StorageType{"BOOL", -1, 1, 1, boolean},
    StorageType{"F8_E4M3", -1, 1, 1, unsupported},
    StorageType{"F8_E5M2", -1, 1, 1, unsupported},
    StorageType{"F8_E8M0", -1, 1, 1, unsupported},
    StorageType{"F8_E4M3FNUZ", -1, 1, 1, unsupported},
    StorageType{"F8_E5M2FNUZ", -1, 1, 1, unsupported},
    StorageType{"F6_E2M3", -1, 4, 3, unsupported},
    StorageType{"F6_E3M2", -1, 4, 3, unsupported},
    StorageType{"C64", -1, 1, 8, unsupported},
    StorageType{"F4", -1, 2, 1, unsupported},
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

std::string readableTypes(const StorageType& beside) {
    std::string names;
    const auto add = [&names](std::span<const StorageType> types) {
        for (const StorageType& type : types) {
            if (type.reading != unsupported)
                names.append(names.empty() ? "" : ", ").append(type.name);
        }
    };
    beside.ggufNumber < 0 ? add(safetensorsTypes) : add(ggufTypes);
    return names;
}

void dequantise(const StorageType& type, std::span<const std::byte> source, std::span<float> target) {
    constexpr std::int64_t elementsPerTask = 1 << 16;
    const auto blocks = static_cast<std::int64_t>(source.size()) / type.bytes;
    at::parallel_for(0, blocks, elementsPerTask / type.elements, [&](std::int64_t begin, std::int64_t end) {
        type.unpack(source.data() + begin * type.bytes, end - begin, target.data() + begin * type.elements);
    });
}

} // namespace secateur
