#include "backends/kernels/loop_table.h"

#include "backends/kernels/score_rows.h"

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

constexpr int doubleLanes = lanes / 2;
using Doubles [[gnu::vector_size(lanes * 4)]] = double;
using Floats [[gnu::vector_size(lanes * 2)]] = float;

SECATEUR_INLINE Doubles wide(const float* from) {
    Floats floats;
    __builtin_memcpy(&floats, from, sizeof floats);
    return __builtin_convertvector(floats, Doubles);
}

SECATEUR_INLINE float wideOne(std::uint16_t half) {
    const std::uint32_t bits = std::uint32_t{half} << 16;
    float result;
    __builtin_memcpy(&result, &bits, sizeof result);
    return result;
}

SECATEUR_INLINE float wideOne(float number) {
    return number;
}

SECATEUR_INLINE Doubles wide(const std::uint16_t* from) {
    using Some [[gnu::vector_size(lanes)]] = std::uint16_t;
    using Bits [[gnu::vector_size(lanes * 2)]] = std::uint32_t;
    Some halves;
    __builtin_memcpy(&halves, from, sizeof halves);
    return __builtin_convertvector(reinterpret_cast<Floats>(__builtin_convertvector(halves, Bits) << 16), Doubles);
}

SECATEUR_INLINE Doubles loadDoubles(const double* from) {
    Doubles result;
    __builtin_memcpy(&result, from, sizeof result);
    return result;
}

SECATEUR_INLINE void storeDoubles(double* to, Doubles value) {
    __builtin_memcpy(to, &value, sizeof value);
}

SECATEUR_INLINE double sumOfDoubles(Doubles v) {
    double sum = 0;
    for (int lane = 0; lane < doubleLanes; ++lane)
        sum += v[lane];
    return sum;
}

SECATEUR_INLINE double magnitude(double value) {
    return value < 0 ? -value : value;
}

SECATEUR_INLINE Vec magnitude(Vec v) {
    return reinterpret_cast<Vec>(reinterpret_cast<Words>(v) & 0x7fffffffU);
}

/// Adds `rows` rows together, so that the sums are loaded and stored only once.
template <int rows, typename Number>
SECATEUR_INLINE void addSomeRows(const ColumnBlock& block, const Number* values) {
    std::int64_t i = 0;
    for (; i + doubleLanes <= block.columns; i += doubleLanes) {
        Doubles magnitudes = loadDoubles(block.magnitudes + i);
        Doubles sums = loadDoubles(block.sums + i);
        Doubles squares = loadDoubles(block.squares + i);
#pragma GCC unroll 4
        for (int row = 0; row < rows; ++row) {
            const Doubles d = wide(values + row * block.stride + i);
            magnitudes += d < 0.0 ? -d : d;
            sums += d;
            squares += d * d;
        }
        storeDoubles(block.magnitudes + i, magnitudes);
        storeDoubles(block.sums + i, sums);
        storeDoubles(block.squares + i, squares);
    }
    for (; i < block.columns; ++i)
        for (int row = 0; row < rows; ++row) {
            const double d = wideOne(values[row * block.stride + i]);
            block.magnitudes[i] += magnitude(d);
            block.sums[i] += d;
            block.squares[i] += d * d;
        }
}

template <typename Number>
SECATEUR_INLINE void addRows(const ColumnBlock& block, const Number* values) {
    constexpr int together = 4;
    std::int64_t row = 0;
    for (; row + together <= block.rows; row += together)
        addSomeRows<together>(block, values + row * block.stride);
    for (; row < block.rows; ++row)
        addSomeRows<1>(block, values + row * block.stride);
}

} // namespace

void innerProducts(const float* x, const float* a, const float* z, std::int64_t width, double* products) {
    Doubles xx{};
    Doubles aa{};
    Doubles zz{};
    Doubles xa{};
    Doubles xz{};
    Doubles az{};
    std::int64_t i = 0;
    for (; i + doubleLanes <= width; i += doubleLanes) {
        const Doubles dx = wide(x + i);
        const Doubles da = wide(a + i);
        const Doubles dz = wide(z + i);
        xx += dx * dx;
        aa += da * da;
        zz += dz * dz;
        xa += dx * da;
        xz += dx * dz;
        az += da * dz;
    }
    const Doubles* sums[] = {&xx, &aa, &zz, &xa, &xz, &az};
    for (int product = 0; product < 6; ++product)
        products[product] = sumOfDoubles(*sums[product]);
    for (; i < width; ++i) {
        const double dx = x[i];
        const double da = a[i];
        const double dz = z[i];
        products[0] += dx * dx;
        products[1] += da * da;
        products[2] += dz * dz;
        products[3] += dx * da;
        products[4] += dx * dz;
        products[5] += da * dz;
    }
}

void addColumns(const ColumnBlock& block) {
    if (block.halves)
        addRows(block, block.halves);
    else
        addRows(block, block.floats);
}

void addScaled(const float* values, double factor, std::int64_t count, double* sums) {
    std::int64_t i = 0;
    for (; i + doubleLanes <= count; i += doubleLanes)
        storeDoubles(sums + i, loadDoubles(sums + i) + wide(values + i) * factor);
    for (; i < count; ++i)
        sums[i] += factor * static_cast<double>(values[i]);
}

void sumMagnitudes(const MagnitudeBlock& block) {
    constexpr std::int64_t stride = keysOfPanel;
    float products[tileRows * keysOfPanel];
    for (int first = 0; first < block.count; first += tileRows) {
        const int rows = static_cast<int>(smaller(tileRows, block.count - first));
        double sums[tileRows] = {};
        for (std::int64_t begin = 0; begin < block.columns; begin += keysOfPanel) {
            const auto vectors = static_cast<int>(smaller(tileVectors, (block.columns - begin + lanes - 1) / lanes));
            multiply(rows, vectors,
                     {block.vectors + first * block.vectorStride, block.vectorStride, 1,
                      block.panels + begin * block.depth, keysOfPanel, block.depth, products, stride, false});
            for (int row = 0; row < rows; ++row) {
                Vec sum{};
                for (int v = 0; v < vectors; ++v)
                    sum += magnitude(load(products + row * stride + v * lanes));
                sums[row] += static_cast<double>(sumOf(sum));
            }
        }
        for (int row = 0; row < rows; ++row)
            block.sums[(first + row) * block.sumStride] = sums[row];
    }
}

double magnitudes(const float* values, std::int64_t count) {
    Vec sums[4]{};
    std::int64_t i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v)
            sums[v] += magnitude(load(values + i + v * lanes));
    for (; i < count; i += lanes)
        sums[0] += magnitude(loadSome(values + i, count - i));
    return static_cast<double>(sumOf((sums[0] + sums[1]) + (sums[2] + sums[3])));
}

} // namespace secateur::SECATEUR_INSTRUCTION_SET
