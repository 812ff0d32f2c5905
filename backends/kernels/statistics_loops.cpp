#include "backends/kernels/statistics_loops.h"

#include "backends/kernels/score_rows.h"

namespace secateur::SECATEUR_LEVEL {

namespace {

constexpr int doubleLanes = lanes / 2;
using Doubles [[gnu::vector_size(lanes * 4)]] = double;
using Floats [[gnu::vector_size(lanes * 2)]] = float;

SECATEUR_INLINE Doubles wide(const float* from) {
    Floats floats;
    __builtin_memcpy(&floats, from, sizeof floats);
    return __builtin_convertvector(floats, Doubles);
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

/// ln x of positive, normal x, to 1e-7.
SECATEUR_INLINE Vec logarithm(Vec x) {
    const Words bits = reinterpret_cast<Words>(x);
    Vec power = __builtin_convertvector(reinterpret_cast<Ints>(bits >> 23) - 127, Vec);
    Vec rest = reinterpret_cast<Vec>((bits & 0x7fffffU) | 0x3f800000U); // 1 to 2
    const Ints isLarge = rest > 1.41421356F;
    rest = isLarge ? rest * 0.5F : rest;
    power = isLarge ? power + 1.0F : power;
    rest -= 1.0F;
    const Vec square = rest * rest;
    Vec series = all(7.0376836292e-2F);
    series = series * rest - 1.1514610310e-1F;
    series = series * rest + 1.1676998740e-1F;
    series = series * rest - 1.2420140846e-1F;
    series = series * rest + 1.4249322787e-1F;
    series = series * rest - 1.6668057665e-1F;
    series = series * rest + 2.0000714765e-1F;
    series = series * rest - 2.4999993993e-1F;
    series = series * rest + 3.3333331174e-1F;
    series = series * rest * square - 2.12194440e-4F * power - 0.5F * square;
    return rest + series + power * 0.693359375F;
}

/// exp(score - largest) of a row and what its entropy needs.
struct ExponentialRow {
    float sum = 0;
    float weighted = 0; ///< of e (score - largest)
};

/// `count` scores, whole vectors, become exponentials.
SECATEUR_INLINE ExponentialRow exponentialRow(float scale, float* scores, std::int64_t count) {
    Vec best = load(scores);
    for (std::int64_t i = lanes; i < count; i += lanes)
        best = larger(load(scores + i), best);
    const float largest = largestOf(best) * scale;
    Vec sum{};
    Vec weighted{};
    for (std::int64_t i = 0; i < count; i += lanes) {
        const Vec below = load(scores + i) * scale - largest;
        const Vec e = exponentialBelow(below);
        store(scores + i, e);
        sum += e;
        weighted += e * larger(below, all(-100)); // what is not seen is no number times 0 else
    }
    return {sumOf(sum), sumOf(weighted)};
}

/// -sum f(a) over what is seen, for the two kinds of entropy that need a logarithm per key.
SECATEUR_INLINE float shiftedEntropy(const float* e, std::int64_t count, std::int64_t seen, float factor, float epsilon,
                                     bool shiftsBoth) {
    const float added = shiftsBoth ? epsilon : 0;
    Vec sum{};
    for (std::int64_t i = 0; i < count; i += lanes) {
        const Vec a = load(e + i) * factor;
        sum -= (a + added) * logarithm(a + epsilon);
    }
    // Of what is not seen a is 0.
    const float ofNone = -added * logarithm(all(epsilon))[0];
    return sumOf(sum) - static_cast<float>(count - seen) * ofNone;
}

class DescribedWork {
public:
    DescribedWork(const DescribedBlock& block, const AttentionShape& shape, float* scratch)
        : m_block(block)
        , m_shape(shape)
        , m_scores(scratch)
        , m_all(visibleKeys(shape, block.first, block.count, block.keyEnd))
        , m_begin(m_all.begin / keysOfPanel * keysOfPanel)
        , m_stride((m_all.end - m_begin + keysOfPanel - 1) / keysOfPanel * keysOfPanel + lanes) {}

    void run() {
        score();
        for (int query = 0; query < m_block.count; ++query)
            describe(query);
    }

private:
    void score() {
        for (std::int64_t begin = m_begin; begin < m_all.end; begin += keysOfPanel) {
            const float* panel = m_block.panels + begin * m_shape.headDim;
            for (int query = 0; query < m_block.count; query += tileRows) {
                const int rows = static_cast<int>(smaller(tileRows, m_block.count - query));
                const Run keys = common(visibleKeys(m_shape, m_block.first + query, rows, m_block.keyEnd), begin,
                                        begin + keysOfPanel);
                if (keys.isEmpty())
                    continue;
                const auto vectors = static_cast<int>((keys.end - begin + lanes - 1) / lanes);
                multiply(rows, vectors,
                         {m_block.queries + std::int64_t{query} * m_shape.headDim, m_shape.headDim, panel, keysOfPanel,
                          m_shape.headDim, m_scores + query * m_stride + (begin - m_begin), m_stride, false});
            }
        }
    }

    void describe(int query) {
        const Run own = visibleKeys(m_shape, m_block.first + query, 1, m_block.keyEnd);
        const std::int64_t from = own.begin / lanes * lanes; // position of the first number at work
        const std::int64_t count = inVectors(own.end - from);
        float* scores = m_scores + query * m_stride + (from - m_begin);
        const float scale = applyScale(m_shape, scores, count);
        hide(scores, 0, own.begin - from);
        hide(scores, own.end - from, count);
        const ExponentialRow row = exponentialRow(scale, scores, count);
        for (int feature = 0; feature < m_block.featureCount; ++feature)
            m_block.values[feature * m_block.featureStride + query] =
                value(m_block.features[feature], m_block.first + query, own, scores - from, count, row);
    }

    /// @param e exponential of the key at position 0
    float value(const AttentionFeature& feature, std::int64_t position, Run own, const float* e, std::int64_t count,
                const ExponentialRow& row) const {
        const float factor = 1.0F / row.sum;
        const auto sumOver = [&](Run keys) {
            float sum = 0;
            for (std::int64_t key = keys.begin; key < keys.end; ++key)
                sum += e[key];
            return sum * factor;
        };
        switch (feature.kind) {
        case AttentionFeature::Kind::key: {
            const std::int64_t key = feature.first < 0 ? m_block.keyEnd + feature.first : feature.first;
            return sumOver(common(own, key, key + 1));
        }
        case AttentionFeature::Kind::band:
            return sumOver(common(own, greater(1, position + feature.first), position + feature.last + 1));
        case AttentionFeature::Kind::entropy:
            return logarithm(all(row.sum))[0] - row.weighted * factor;
        default: {
            const std::int64_t from = own.begin / lanes * lanes;
            return shiftedEntropy(e + from, count, own.end - own.begin, factor, feature.epsilon,
                                  feature.kind == AttentionFeature::Kind::shifted);
        }
        }
    }

    const DescribedBlock& m_block;
    const AttentionShape& m_shape;
    float* m_scores; // [queries, m_stride], from key m_begin on
    Run m_all;
    std::int64_t m_begin;
    std::int64_t m_stride;
};

} // namespace

void describeBlock(const DescribedBlock& block, const AttentionShape& shape, float* scratch) {
    DescribedWork(block, shape, scratch).run();
}

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

void addColumns(const float* values, std::int64_t count, double* magnitudes, double* sums, double* squares) {
    std::int64_t i = 0;
    for (; i + doubleLanes <= count; i += doubleLanes) {
        const Doubles d = wide(values + i);
        storeDoubles(magnitudes + i, loadDoubles(magnitudes + i) + (d < 0.0 ? -d : d));
        storeDoubles(sums + i, loadDoubles(sums + i) + d);
        storeDoubles(squares + i, loadDoubles(squares + i) + d * d);
    }
    for (; i < count; ++i) {
        const double d = values[i];
        magnitudes[i] += magnitude(d);
        sums[i] += d;
        squares[i] += d * d;
    }
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
                     {block.vectors + first * block.vectorStride, block.vectorStride,
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

} // namespace secateur::SECATEUR_LEVEL
