#pragma once

#include "backends/kernels/loop_table.h"

// Stored numbers as vectors of float32. Each type has open(), which reads what all numbers of a block share, and
// decode(), which decodes 32 consecutive numbers (a run). The results are the numbers that dequantise() in
// backends/formats/quants.h gives: wherever a product and a sum may be fused, the product is exact.

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

constexpr int runLength = 32;
constexpr int runVectors = runLength / lanes;
constexpr int halfRun = runVectors / 2; ///< vectors in 16 numbers

using Bytes [[gnu::vector_size(lanes)]] = std::uint8_t;
using SignedBytes [[gnu::vector_size(lanes)]] = std::int8_t;
using Run = Vec[runVectors];

SECATEUR_INLINE Ints unsignedAt(const std::uint8_t* from) {
#if defined(__AVX512F__)
    return reinterpret_cast<Ints>(_mm512_maskz_cvtepu8_epi32(everyLane, read<__m128i>(from)));
#elif defined(__AVX2__)
    return reinterpret_cast<Ints>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
    return __builtin_convertvector(read<Bytes>(from), Ints);
#endif
}

SECATEUR_INLINE Ints signedAt(const std::uint8_t* from) {
#if defined(__AVX512F__)
    return reinterpret_cast<Ints>(_mm512_maskz_cvtepi8_epi32(everyLane, read<__m128i>(from)));
#elif defined(__AVX2__)
    return reinterpret_cast<Ints>(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
    return __builtin_convertvector(read<SignedBytes>(from), Ints);
#endif
}

SECATEUR_INLINE Vec toFloats(Ints numbers) {
    return __builtin_convertvector(numbers, Vec);
}

/// @param halves BlockProduct::halves
SECATEUR_INLINE float halfAt(const std::uint8_t* from, const float* halves) {
    return halves[read<std::uint16_t>(from)];
}

SECATEUR_INLINE Vec halvesAt(const std::uint8_t* from) {
#if defined(__AVX512F__)
    return _mm512_maskz_cvtph_ps(everyLane, read<__m256i_u>(from));
#elif defined(__F16C__)
    return _mm256_cvtph_ps(read<__m128i_u>(from));
#else
    // Shifting the bits of a float16 into those of a float32 gives the number times 2^-112; subnormal numbers too.
    const Words bits = wordsAt(from);
    const Vec scaled = reinterpret_cast<Vec>((bits & 0x7fffU) << 13) * 0x1p112F;
    const Words special = (bits & 0x7c00U) == 0x7c00U ? Words{} + 0x7f800000U : Words{}; // infinities and NaN
    return reinterpret_cast<Vec>(reinterpret_cast<Words>(scaled) | special | (bits & 0x8000U) << 16);
#endif
}

/// The numbers of all codes of four bits: scale (q - offset) + least. One of the last two is 0, so that the product is
/// exact.
class FourBits {
public:
    SECATEUR_INLINE FourBits(float scale, float least, int offset = 0)
#if defined(__AVX512F__)
        : m_values(toFloats(laneNumbers() - offset) * scale + least) {
    }
    /// @param codes only their lowest four bits count
    SECATEUR_INLINE Vec at(Ints codes) const {
        return __builtin_shuffle(m_values, codes);
    }

private:
    Vec m_values;
#else
        : m_scale(scale)
        , m_least(least)
        , m_offset(offset) {
    }
    SECATEUR_INLINE Vec at(Ints codes) const {
        return toFloats((codes & 15) - m_offset) * m_scale + m_least;
    }

private:
    float m_scale;
    float m_least;
    int m_offset;
#endif
};

/// Makes the compiler read an array from memory again. Otherwise it takes numbers from the vectors that were stored, by
/// shuffles, which are slower than loads that widen or repeat numbers.
SECATEUR_INLINE void keepInMemory(const void* numbers) {
    asm volatile("" : : "r"(numbers) : "memory");
}

/// What open() reads: a block, or a run of numbers without blocks.
template <BlockType type>
struct DecodedAtOnce {
    static constexpr int blocks = sizeOf(type).elements == 1 ? runLength : 1;
    static constexpr int elements = blocks * sizeOf(type).elements;
    static constexpr int bytes = blocks * sizeOf(type).bytes;
};

struct StoredFloats : DecodedAtOnce<BlockType::float32> {
    const std::uint8_t* from;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float*) { from = block; }
    SECATEUR_INLINE void decode(int, Run& numbers) const {
#pragma GCC unroll 8
        for (int i = 0; i < runVectors; ++i)
            numbers[i] = read<Vec>(from + 4 * lanes * i);
    }
};

struct StoredHalves : DecodedAtOnce<BlockType::float16> {
    const std::uint8_t* from;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float*) { from = block; }
    SECATEUR_INLINE void decode(int, Run& numbers) const {
#pragma GCC unroll 8
        for (int i = 0; i < runVectors; ++i)
            numbers[i] = halvesAt(from + 2 * lanes * i);
    }
};

struct StoredBfloats : DecodedAtOnce<BlockType::bfloat16> {
    const std::uint8_t* from;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float*) { from = block; }
    SECATEUR_INLINE void decode(int, Run& numbers) const {
#pragma GCC unroll 8
        for (int i = 0; i < runVectors; ++i)
            numbers[i] = reinterpret_cast<Vec>(wordsAt(from + 2 * lanes * i) << 16);
    }
};

struct StoredQ8_0 : DecodedAtOnce<BlockType::q8_0> {
    const std::uint8_t* codes;
    float scale;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float* halves) {
        scale = halfAt(block, halves);
        codes = block + 2;
    }
    SECATEUR_INLINE void decode(int, Run& numbers) const {
#pragma GCC unroll 8
        for (int i = 0; i < runVectors; ++i)
            numbers[i] = toFloats(signedAt(codes + lanes * i)) * scale;
    }
};

/// Low nibbles are the first 16 numbers, high nibbles the others.
SECATEUR_INLINE void decodeNibbles(const std::uint8_t* codes, const FourBits& values, Run& numbers) {
#pragma GCC unroll 4
    for (int i = 0; i < halfRun; ++i) {
        const Ints pairs = unsignedAt(codes + lanes * i);
        numbers[i] = values.at(pairs);
        numbers[i + halfRun] = values.at(pairs >> 4);
    }
}

struct StoredQ4_0 : DecodedAtOnce<BlockType::q4_0> {
    const std::uint8_t* codes;
    float scale;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float* halves) {
        scale = halfAt(block, halves);
        codes = block + 2;
    }
    SECATEUR_INLINE void decode(int, Run& numbers) const { decodeNibbles(codes, FourBits(scale, 0, 8), numbers); }
};

struct StoredQ4_1 : DecodedAtOnce<BlockType::q4_1> {
    const std::uint8_t* codes;
    float scale;
    float least;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float* halves) {
        scale = halfAt(block, halves);
        least = halfAt(block + 2, halves);
        codes = block + 4;
    }
    SECATEUR_INLINE void decode(int, Run& numbers) const { decodeNibbles(codes, FourBits(scale, least), numbers); }
};

/// The 16s of the fifth bits of a vector of codes.
SECATEUR_INLINE Ints fifthBits(std::uint32_t bits, int vector) {
    const Words shifted = (Words{} + bits) >> reinterpret_cast<Words>(laneNumbers() + vector * lanes);
    return reinterpret_cast<Ints>(shifted & 1U) << 4;
}

SECATEUR_INLINE void decodeFiveBits(const std::uint8_t* codes, std::uint32_t bits, float scale, float least, int offset,
                                    Run& numbers) {
#pragma GCC unroll 4
    for (int i = 0; i < halfRun; ++i) {
        const Ints pairs = unsignedAt(codes + lanes * i);
        numbers[i] = toFloats(((pairs & 15) | fifthBits(bits, i)) - offset) * scale + least;
        numbers[i + halfRun] = toFloats((pairs >> 4 | fifthBits(bits, i + halfRun)) - offset) * scale + least;
    }
}

struct StoredQ5_0 : DecodedAtOnce<BlockType::q5_0> {
    const std::uint8_t* from;
    float scale;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float* halves) {
        from = block;
        scale = halfAt(block, halves);
    }
    SECATEUR_INLINE void decode(int, Run& numbers) const {
        decodeFiveBits(from + 6, read<std::uint32_t>(from + 2), scale, 0, 16, numbers);
    }
};

struct StoredQ5_1 : DecodedAtOnce<BlockType::q5_1> {
    const std::uint8_t* from;
    float scale;
    float least;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float* halves) {
        from = block;
        scale = halfAt(block, halves);
        least = halfAt(block + 2, halves);
    }
    SECATEUR_INLINE void decode(int, Run& numbers) const {
        decodeFiveBits(from + 8, read<std::uint32_t>(from + 4), scale, least, 0, numbers);
    }
};

/// The scales of the eight runs of a block of Q4_K or Q5_K, and their least numbers: minus the stored minima.
struct RunScales {
    float scales[8];
    float least[8];

    /// Each number has six bits; quants.cpp explains how they are packed. Four numbers are unpacked at a time.
    SECATEUR_INLINE void open(const std::uint8_t* block, const float* halves) {
        const auto first = read<std::uint32_t>(block + 4);
        const auto second = read<std::uint32_t>(block + 8);
        const auto third = read<std::uint32_t>(block + 12);
        const std::uint32_t packed[4] = {first & 0x3f3f3f3fU, (third & 0x0f0f0f0fU) | (first >> 2 & 0x30303030U),
                                         second & 0x3f3f3f3fU,
                                         (third >> 4 & 0x0f0f0f0fU) | (second >> 2 & 0x30303030U)};
        const float scale = halfAt(block, halves);
        const float minimum = halfAt(block + 2, halves);
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(packed);
#pragma GCC unroll 4
        for (int i = 0; i < 16; i += lanes) {
            const Vec factor = laneNumbers() + i < 8 ? all(scale) : all(-minimum);
            store(scales + i, toFloats(unsignedAt(bytes + i)) * factor);
        }
        keepInMemory(scales);
    }
};
static_assert(sizeof(RunScales) == 16 * sizeof(float), "open() writes both as one array");

struct StoredQ4_K : DecodedAtOnce<BlockType::q4_k> {
    const std::uint8_t* codes;
    RunScales of;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float* halves) {
        of.open(block, halves);
        codes = block + 16;
    }
    SECATEUR_INLINE void decode(int run, Run& numbers) const {
        const FourBits values(of.scales[run], of.least[run]);
#pragma GCC unroll 8
        for (int i = 0; i < runVectors; ++i)
            numbers[i] = values.at(unsignedAt(codes + run / 2 * 32 + lanes * i) >> run % 2 * 4);
    }
};

/// Pairs of bytes with codes of two runs. Codes of more than four bits are put together in bytes, several times as many
/// at once as in floats.
using Pairs [[gnu::vector_size(4 * lanes)]] = std::uint16_t;
constexpr int pairVectors = 2 * runLength / (4 * lanes);

SECATEUR_INLINE Pairs allBytes(std::uint8_t byte) {
    return static_cast<std::uint16_t>(byte * 0x0101) + Pairs{};
}

/// A vector of a run of bytes that is followed by itself.
SECATEUR_INLINE Pairs twice(const std::uint8_t* from, [[maybe_unused]] int vector) {
#if defined(__AVX512F__)
    return reinterpret_cast<Pairs>(_mm512_maskz_broadcast_i64x4(0xff, read<__m256i_u>(from)));
#else
    return read<Pairs>(from + vector * 4 * lanes % runLength);
#endif
}

/// Numbers of bits by which the pairs of two runs are shifted.
SECATEUR_INLINE Pairs shifts(int ofFirst, int ofSecond, int vector) {
    Pairs bits{};
    for (int i = 0; i < 2 * lanes; ++i)
        bits[i] = static_cast<std::uint16_t>(vector * 4 * lanes + 2 * i < runLength ? ofFirst : ofSecond);
    return bits;
}

SECATEUR_INLINE void storePairs(std::uint8_t* to, Pairs pairs) {
    __builtin_memcpy(to, &pairs, sizeof pairs);
}

struct StoredQ5_K : DecodedAtOnce<BlockType::q5_k> {
    alignas(64) std::uint8_t codes[256];
    RunScales of;

    SECATEUR_INLINE void open(const std::uint8_t* block, const float* halves) {
        of.open(block, halves);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i)
#pragma GCC unroll 4
            for (int v = 0; v < pairVectors; ++v) {
                const Pairs low = twice(block + 48 + i * runLength, v) >> shifts(0, 4, v) & allBytes(15);
                const Pairs bits = twice(block + 16, v);
                const Pairs fifth =
                    i < 2 ? bits << shifts(4 - 2 * i, 3 - 2 * i, v) : bits >> shifts(2 * i - 4, 2 * i - 3, v);
                storePairs(codes + i * 2 * runLength + v * 4 * lanes, low | (fifth & allBytes(16)));
            }
        keepInMemory(codes);
    }
    SECATEUR_INLINE void decode(int run, Run& numbers) const {
#pragma GCC unroll 8
        for (int i = 0; i < runVectors; ++i)
            numbers[i] = toFloats(unsignedAt(codes + run * runLength + lanes * i)) * of.scales[run] + of.least[run];
    }
};

struct StoredQ6_K : DecodedAtOnce<BlockType::q6_k> {
    alignas(64) std::uint8_t codes[256]; ///< signed
    float scales[16];

    SECATEUR_INLINE void open(const std::uint8_t* block, const float* halves) {
        const float scale = halfAt(block + 208, halves);
#pragma GCC unroll 4
        for (int i = 0; i < 16; i += lanes)
            store(scales + i, toFloats(signedAt(block + 192 + i)) * scale);
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half)
#pragma GCC unroll 4
            for (int v = 0; v < pairVectors; ++v) {
                const auto low = read<Pairs>(block + half * 64 + v * 4 * lanes);
                const Pairs high = twice(block + 128 + half * runLength, v);
                std::uint8_t* to = codes + half * 4 * runLength + v * 4 * lanes;
                storePairs(to, centred((low & allBytes(15)) | (high << shifts(4, 2, v) & allBytes(48))));
                storePairs(to + 2 * runLength,
                           centred((low >> 4 & allBytes(15)) | (high >> shifts(0, 2, v) & allBytes(48))));
            }
        keepInMemory(codes);
        keepInMemory(scales);
    }
    SECATEUR_INLINE void decode(int run, Run& numbers) const {
#pragma GCC unroll 8
        for (int i = 0; i < runVectors; ++i)
            numbers[i] = toFloats(signedAt(codes + run * runLength + lanes * i)) * scales[2 * run + lanes * i / 16];
    }

private:
    /// The codes minus 32.
    SECATEUR_INLINE static Pairs centred(Pairs pairs) {
        using PairBytes [[gnu::vector_size(sizeof(Pairs))]] = std::uint8_t;
        return reinterpret_cast<Pairs>(reinterpret_cast<PairBytes>(pairs) - std::uint8_t{32});
    }
};

} // namespace

} // namespace secateur::SECATEUR_INSTRUCTION_SET
