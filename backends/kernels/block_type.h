#pragma once

#include <cstdint>

namespace secateur {

/// The types of stored numbers that products decode in registers (see ggml's block layouts in
/// backends/formats/quants.cpp).
enum class BlockType { float32, float16, bfloat16, q4_0, q4_1, q5_0, q5_1, q8_0, q4_k, q5_k, q6_k };

/// Numbers and bytes of a block.
struct BlockSize {
    int elements;
    int bytes;
};

constexpr BlockSize sizeOf(BlockType type) {
    switch (type) {
    case BlockType::float32:
        return {1, 4};
    case BlockType::float16:
    case BlockType::bfloat16:
        return {1, 2};
    case BlockType::q4_0:
        return {32, 18};
    case BlockType::q4_1:
        return {32, 20};
    case BlockType::q5_0:
        return {32, 22};
    case BlockType::q5_1:
        return {32, 24};
    case BlockType::q8_0:
        return {32, 34};
    case BlockType::q4_k:
        return {256, 144};
    case BlockType::q5_k:
        return {256, 176};
    case BlockType::q6_k:
        return {256, 210};
    }
    return {1, 1};
}

} // namespace secateur
