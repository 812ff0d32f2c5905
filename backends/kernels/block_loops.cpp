#include "backends/kernels/block_decoding.h"
#include "backends/kernels/loop_table.h"

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

/// Products of rows of stored numbers with vectors, whose sums are in registers. The order of the additions is the same
/// for all numbers of rows and vectors.
template <typename Stored, int outs, int ins>
class BlockTile {
public:
    SECATEUR_INLINE BlockTile(const BlockProduct& product, int out, int in)
        : m_product(product)
        , m_inputs(product.inputs + in * product.inputStride)
        , m_result(product.result + in * product.resultStride + out) {
#pragma GCC unroll 4
        for (int i = 0; i < outs; ++i) {
            m_rows[i] = product.rows[out + i];
            m_ahead[i] = product.rows[out + i + product.ahead] - m_rows[i];
        }
    }

    SECATEUR_INLINE void run() {
        const std::int64_t whole = m_product.depth / Stored::elements * Stored::elements;
        for (std::int64_t place = 0; place < whole; place += Stored::elements) {
#pragma GCC unroll 4
            for (int out = 0; out < outs; ++out)
                for (int line = 0; line < Stored::bytes; line += 64)
                    __builtin_prefetch(m_rows[out] + m_ahead[out] + line);
            addBlock(m_inputs + place, m_product.inputStride);
        }
        if (whole < m_product.depth)
            addEnd(whole);
#pragma GCC unroll 4
        for (int out = 0; out < outs; ++out)
#pragma GCC unroll 8
            for (int in = 0; in < ins; ++in)
                m_result[in * m_product.resultStride + out] = sumOf(m_sums[out][in][0] + m_sums[out][in][1]);
    }

private:
    SECATEUR_INLINE void addBlock(const float* inputs, std::int64_t inputStride) {
        // What open() stores in memory can be loaded in other sizes only after the store, for which a row would wait.
        // So the blocks of all rows are opened first.
        constexpr int together = Stored::elements > runLength ? outs : 1;
#pragma GCC unroll 4
        for (int first = 0; first < outs; first += together) {
            Stored blocks[together];
#pragma GCC unroll 4
            for (int i = 0; i < together; ++i) {
                blocks[i].open(m_rows[first + i], m_product.halves);
                m_rows[first + i] += Stored::bytes;
            }
#pragma GCC unroll 4
            for (int i = 0; i < together; ++i)
                addProducts(blocks[i], inputs, inputStride, m_sums[first + i]);
        }
    }

    SECATEUR_INLINE static void addProducts(const Stored& block, const float* inputs, std::int64_t inputStride,
                                            Vec (&sums)[ins][2]) {
#pragma GCC unroll 8
        for (int run = 0; run < Stored::elements / runLength; ++run) {
            Run numbers;
            block.decode(run, numbers);
#pragma GCC unroll 8
            for (int i = 0; i < runVectors; ++i)
#pragma GCC unroll 8
                for (int in = 0; in < ins; ++in)
                    sums[in][i % 2] += numbers[i] * load(inputs + in * inputStride + run * runLength + i * lanes);
        }
    }

    /// Adds the last numbers of a row that does not end with a block, padded with zeros.
    void addEnd(std::int64_t place) {
        const auto count = static_cast<std::size_t>(m_product.depth - place);
        std::uint8_t rows[outs][Stored::bytes]{};
        float inputs[ins][Stored::elements]{};
        for (int out = 0; out < outs; ++out) {
            __builtin_memcpy(rows[out], m_rows[out], count * (Stored::bytes / Stored::elements));
            m_rows[out] = rows[out];
        }
        for (int in = 0; in < ins; ++in)
            __builtin_memcpy(inputs[in], m_inputs + in * m_product.inputStride + place, count * sizeof(float));
        addBlock(inputs[0], Stored::elements);
    }

    const BlockProduct& m_product;
    const float* m_inputs;
    float* m_result;
    const std::uint8_t* m_rows[outs];
    std::ptrdiff_t m_ahead[outs]; ///< distance of the bytes to prefetch: the processor reads ahead only within a page
    Vec m_sums[outs][ins][2]{};   ///< of even and of odd vectors: each addition to a sum waits for the previous one
};

template <typename Stored, int outs, int ins>
void multiplyRows(const BlockProduct& product, int& out, int in) {
    for (; out + outs <= product.count; out += outs)
        BlockTile<Stored, outs, ins>(product, out, in).run();
}

/// Several rows at once for a single vector, several vectors at once for one row: then each number is decoded once.
template <typename Stored>
void multiplyAll(const BlockProduct& product) {
    int in = 0;
    const auto multiply = [&](auto ins) {
        for (; in + ins() <= product.inputCount; in += ins()) {
            int out = 0;
            multiplyRows<Stored, 1, ins()>(product, out, in);
        }
    };
    if constexpr (lanes == 16)
        multiply(std::integral_constant<int, 8>());
    multiply(std::integral_constant<int, lanes == 4 ? 2 : 4>());
    for (; in < product.inputCount; ++in) {
        int out = 0;
        if constexpr (lanes > 4)
            multiplyRows<Stored, 4, 1>(product, out, in);
        multiplyRows<Stored, 1, 1>(product, out, in);
    }
}

} // namespace

void multiplyBlocks(const BlockProduct& product) {
    switch (product.type) {
    case BlockType::float32:
        return multiplyAll<StoredFloats>(product);
    case BlockType::float16:
        return multiplyAll<StoredHalves>(product);
    case BlockType::bfloat16:
        return multiplyAll<StoredBfloats>(product);
    case BlockType::q4_0:
        return multiplyAll<StoredQ4_0>(product);
    case BlockType::q4_1:
        return multiplyAll<StoredQ4_1>(product);
    case BlockType::q5_0:
        return multiplyAll<StoredQ5_0>(product);
    case BlockType::q5_1:
        return multiplyAll<StoredQ5_1>(product);
    case BlockType::q8_0:
        return multiplyAll<StoredQ8_0>(product);
    case BlockType::q4_k:
        return multiplyAll<StoredQ4_K>(product);
    case BlockType::q5_k:
        return multiplyAll<StoredQ5_K>(product);
    case BlockType::q6_k:
        return multiplyAll<StoredQ6_K>(product);
    }
}

} // namespace secateur::SECATEUR_INSTRUCTION_SET
