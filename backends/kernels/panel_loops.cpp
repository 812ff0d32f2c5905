#include "backends/kernels/loop_table.h"

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

constexpr int panelOutputs = PanelProduct::panelOutputs;
constexpr int tileWidth = 4 * lanes; ///< outputs whose sums are in registers

/// Loads one or two terms of four vectors of outputs, and adds their products with a vector's numbers.
struct Floats {
    static constexpr int terms = 1;
    const float* from;

    template <int ins>
    SECATEUR_INLINE void add(const float* input, std::int64_t stride, Vec (&sums)[ins][4]) const {
        Vec numbers[4];
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
            numbers[v] = load(from + v * lanes);
#pragma GCC unroll 8
        for (int in = 0; in < ins; ++in)
#pragma GCC unroll 4
            for (int v = 0; v < 4; ++v)
                sums[in][v] += input[in * stride] * numbers[v];
    }
};

struct Halves2 {
    static constexpr int terms = 2;
    const std::uint16_t* from;

    template <int ins>
    SECATEUR_INLINE void add(const float* input, std::int64_t stride, Vec (&sums)[ins][4]) const {
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
            Words pairs;
            __builtin_memcpy(&pairs, from + 2 * v * lanes, sizeof pairs);
            const Vec first = __builtin_bit_cast(Vec, pairs << 16);
            const Vec second = __builtin_bit_cast(Vec, pairs & 0xffff0000U);
#pragma GCC unroll 8
            for (int in = 0; in < ins; ++in) {
                sums[in][v] += input[in * stride] * first;
                sums[in][v] += input[in * stride + 1] * second;
            }
        }
    }
};

template <typename Weights, int ins, typename Number>
void multiplyTile(const PanelProduct& p, const Number* from, const float* inputs, float* result) {
    constexpr int ahead = 4096 / sizeof(Number); // the processor's own read-ahead ends at pages
    Vec sums[ins][4]{};
    std::int64_t i = 0;
    for (; i + Weights::terms <= p.depth; i += Weights::terms, from += panelOutputs * Weights::terms) {
#pragma GCC unroll 4
        for (int line = 0; line < tileWidth * 4 / 64; ++line)
            __builtin_prefetch(from + ahead + line * 64 / sizeof(Number));
        Weights{from}.template add<ins>(inputs + i, p.inputStride, sums);
    }
    if (i < p.depth) { // the second term of the last pair is missing
        float last[ins][2]{};
        for (int in = 0; in < ins; ++in)
            last[in][0] = inputs[in * p.inputStride + i];
        Weights{from}.template add<ins>(last[0], 2, sums);
    }
    for (int in = 0; in < ins; ++in)
        for (int v = 0; v < 4; ++v)
            store(result + in * panelOutputs + v * lanes, sums[in][v]);
}

template <typename Weights, typename Number>
void multiplyAll(const PanelProduct& p, const Number* panel) {
    constexpr int mostIns = lanes == 16 ? 4 : 2;
    for (int begin = 0; begin < panelOutputs; begin += tileWidth) {
        const Number* from = panel + begin * Weights::terms;
        const auto multiply = [&](auto ins, int in) {
            multiplyTile<Weights, decltype(ins)::value>(p, from, p.inputs + in * p.inputStride,
                                                        p.result + in * panelOutputs + begin);
        };
        int in = 0;
        for (; in + mostIns <= p.inputCount; in += mostIns)
            multiply(std::integral_constant<int, mostIns>(), in);
        for (; in < p.inputCount; ++in)
            multiply(std::integral_constant<int, 1>(), in);
    }
}

} // namespace

void multiplyPanel(const PanelProduct& product) {
    if (product.halves)
        multiplyAll<Halves2>(product, product.halves);
    else
        multiplyAll<Floats>(product, product.floats);
}

} // namespace secateur::SECATEUR_INSTRUCTION_SET
