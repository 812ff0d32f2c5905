#include "backends/kernels/loop_table.h"

#include "backends/kernels/bfloat16_rows.h"
#include "backends/kernels/score_rows.h"

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

/// Whether a feature is a sum of probabilities.
SECATEUR_INLINE bool isSum(const AttentionFeature& feature) {
    return feature.kind == AttentionFeature::Kind::key || feature.kind == AttentionFeature::Kind::band;
}

/// The keys whose probabilities a feature sums, for a query at `position`.
SECATEUR_INLINE Range keysOf(const AttentionFeature& feature, std::int64_t position, std::int64_t keyEnd) {
    if (feature.kind == AttentionFeature::Kind::band)
        return {greater(1, position + feature.first), position + feature.last + 1};
    const std::int64_t key = feature.first < 0 ? keyEnd + feature.first : feature.first;
    return {key, key + 1};
}

/// The sum of exponentials over keys. @param e exponentials, from the key at position 0 on
SECATEUR_INLINE float sumOver(const float* e, Range keys) {
    float sum = 0;
    for (std::int64_t key = keys.begin; key < keys.end; ++key)
        sum += e[key];
    return sum;
}

/// The feature `shifted` if `shiftsBoth`, otherwise shiftedLog (see AttentionFeature), over the visible keys.
SECATEUR_INLINE float shiftedEntropy(const float* e, std::int64_t count, std::int64_t seen, float factor, float epsilon,
                                     bool shiftsBoth) {
    const float added = shiftsBoth ? epsilon : 0;
    Vec sum{};
    for (std::int64_t i = 0; i < count; i += lanes) {
        const Vec a = load(e + i) * factor;
        sum -= (a + added) * logarithm(a + epsilon);
    }
    // Keys that are not visible have the probability 0. Their terms are subtracted here.
    const float ofNone = -added * logarithm(all(epsilon))[0];
    return sumOf(sum) - static_cast<float>(count - seen) * ofNone;
}

} // namespace

namespace {

/// `count` numbers in whole steps of products in bfloat16.
constexpr std::int64_t inSteps(std::int64_t count) {
    return (count + RowProduct::width - 1) / RowProduct::width * RowProduct::width;
}

/// Attention of a block of queries, computed for one run of keys at a time. In bfloat16, queries, keys, values and
/// the exponentials of the scores are rounded to bfloat16; sums and the softmax are float32.
class BlockAttention {
public:
    BlockAttention(const QueryBlock& block, const AttentionShape& shape, float* scratch)
        : m_block(block)
        , m_shape(shape)
        , m_tiles{shape, block.first, block.count, block.keyEnd,
                  block.keyTiles ? static_cast<int>(RowProduct::height) : tileRows}
        , m_grain(block.keyTiles ? RowProduct::width : lanes)
        , m_columns(block.keyTiles ? inSteps(shape.headDim) : inVectors(shape.headDim))
        , m_stride(strideOf(block.runKeys))
        , m_scores(scratch)
        , m_context(m_scores + VectorLoops::blockQueries * m_stride)
        , m_rounded(reinterpret_cast<std::uint16_t*>(m_context + VectorLoops::blockQueries * m_columns))
        , m_roundedStride(inSteps(block.runKeys) + RowProduct::width)
        , m_queries(m_rounded + VectorLoops::blockQueries * m_roundedStride) {
        for (std::int64_t i = 0; i < block.count * m_columns; i += lanes)
            store(m_context + i, Vec{});
        for (int query = 0; query < block.count; ++query)
            m_rows[query] = {-__builtin_inff(), 0, 1, 0};
        if (block.keyTiles)
            roundQueries();
        for (int feature = 0; feature < block.features.count; ++feature)
            for (int query = 0; query < block.count; ++query)
                featureValue(feature, query) = 0;
    }

    void run() {
        const Range all = m_tiles.visible();
        const std::int64_t skipped = (all.begin - m_block.keyFrom) / keysOfPanel * keysOfPanel;
        for (m_begin = m_block.keyFrom + skipped; m_begin < all.end; m_begin += m_block.runKeys) {
            m_end = smaller(m_begin + m_block.runKeys, all.end);
            if (m_block.keyTiles)
                attendInBfloat16();
            else
                attendInFloats();
        }
        for (int query = 0; query < m_block.count; ++query) {
            write(query);
            finishFeatures(query);
        }
    }

private:
    float& featureValue(int feature, int query) const {
        return m_block.features.values[feature * m_block.features.stride + query];
    }

    Range currentKeys() const { return {m_begin, m_end}; }

    void attendInFloats() {
        scoreTiles();
        for (int query = 0; query < m_block.count; ++query)
            softmax(query);
        addRows(m_tiles, currentKeys(), m_scores, m_stride,
                m_block.values + (m_begin - m_block.keyFrom) * m_block.valueStride, m_block.valueStride, m_context,
                m_columns);
    }

    void attendInBfloat16() {
        constexpr auto height = static_cast<int>(RowProduct::height);
        const std::int64_t strips = m_columns / RowProduct::width;
        const std::int64_t runBytes = strips * RowProduct::pieceBytes;
        for (int first = 0; first < m_block.count; first += height) {
            const Range keys = intersection(m_tiles.keys(first), currentKeys());
            if (keys.isEmpty())
                continue;
            const std::int64_t begin = (keys.begin - m_begin) / RowProduct::width * RowProduct::width;
            const std::int64_t steps = inSteps(keys.end - m_begin - begin) / RowProduct::width;
            const std::int64_t piece = (m_begin + begin - m_block.keyFrom) / RowProduct::width * runBytes;
            float* scores = m_scores + first * m_stride + begin;
            m_block.multiply({.rows = m_queries + first * m_columns,
                              .rowStride = m_columns,
                              .pieces = m_block.keyTiles + piece,
                              .steps = strips,
                              .strips = steps,
                              .stepBytes = RowProduct::pieceBytes,
                              .stripBytes = runBytes,
                              .result = scores,
                              .resultStride = m_stride});
            std::uint16_t* rounded = m_rounded + first * m_roundedStride + begin;
            for (int query = first; query < first + m_tiles.size(first); ++query) {
                softmax(query);
                const std::int64_t row = query - first;
                for (std::int64_t i = 0; i < steps * RowProduct::width; i += lanes)
                    storeSome(rounded + row * m_roundedStride + i, load(scores + row * m_stride + i), lanes);
            }
            m_block.multiply({.rows = rounded,
                              .rowStride = m_roundedStride,
                              .pieces = m_block.valueTiles + piece,
                              .steps = steps,
                              .strips = strips,
                              .stepBytes = runBytes,
                              .stripBytes = RowProduct::pieceBytes,
                              .result = m_context + first * m_columns,
                              .resultStride = m_columns,
                              .adds = true});
        }
    }

    void roundQueries() {
        for (int query = 0; query < m_block.count; ++query)
            for (std::int64_t i = 0; i < m_columns; i += lanes)
                storeSome(m_queries + query * m_columns + i,
                          loadSome(m_block.queries + query * m_shape.headDim + i, m_shape.headDim - i), lanes);
    }

    void scoreTiles() {
        forEachTile(m_tiles, currentKeys(), [&](std::int64_t begin, int query, int vectors) {
            multiply(m_tiles.size(query), vectors,
                     {m_block.queries + std::int64_t{query} * m_shape.headDim, m_shape.headDim, 1,
                      m_block.panels + (begin - m_block.keyFrom) * m_shape.headDim, keysOfPanel, m_shape.headDim,
                      m_scores + query * m_stride + (begin - m_begin), m_stride, false});
        });
    }

    void softmax(int query) {
        const Range keys = intersection(m_tiles.keys(query), currentKeys());
        if (keys.isEmpty())
            return;
        const std::int64_t begin = (keys.begin - m_begin) / m_grain * m_grain;
        const std::int64_t count = (keys.end - m_begin - begin + m_grain - 1) / m_grain * m_grain;
        const Range own = intersection(m_tiles.visible(query, 1), m_begin + begin, m_begin + begin + count);
        float* scores = m_scores + query * m_stride + begin;
        const float scale = applyScale(m_shape, scores, count);
        const std::int64_t shown = smaller(greater(own.begin - m_begin - begin, 0), count);
        hide(scores, 0, shown);
        hide(scores, greater(shown, own.end - m_begin - begin), count);
        if (m_block.features.count == 0)
            m_rows[query] = exponentials(m_rows[query], scale, scores, count);
        else {
            m_rows[query] = exponentials<true>(m_rows[query], scale, scores, count);
            sumFeatures(query, scores, {m_begin + begin, m_begin + begin + count}, own);
        }
        if (m_rows[query].rescale == 1 || m_begin == m_block.keyFrom)
            return;
        float* context = m_context + query * m_columns;
        for (std::int64_t i = 0; i < m_columns; i += lanes)
            store(context + i, load(context + i) * m_rows[query].rescale);
    }

    /// @param e exponentials of the keys in `all`; 0 for keys that are not in `seen`
    void sumFeatures(int query, const float* e, Range all, Range seen) const {
        const SoftmaxRow& row = m_rows[query];
        for (int i = 0; i < m_block.features.count; ++i) {
            const AttentionFeature& feature = m_block.features.wanted[i];
            float& value = featureValue(i, query);
            if (isSum(feature)) {
                const Range keys = intersection(seen, keysOf(feature, m_block.first + query, m_block.keyEnd));
                value = value * row.rescale + sumOver(e - all.begin, keys);
            } else if (feature.kind != AttentionFeature::Kind::entropy)
                value = shiftedEntropy(e, all.end - all.begin, seen.end - seen.begin, 1.0F / row.sum, feature.epsilon,
                                       feature.kind == AttentionFeature::Kind::shifted);
        }
    }

    void finishFeatures(int query) const {
        const SoftmaxRow& row = m_rows[query];
        for (int i = 0; i < m_block.features.count; ++i) {
            const AttentionFeature& feature = m_block.features.wanted[i];
            float& value = featureValue(i, query);
            if (isSum(feature))
                value /= row.sum;
            else if (feature.kind == AttentionFeature::Kind::entropy)
                value = logarithm(all(row.sum))[0] - row.weighted / row.sum;
        }
    }

    template <typename To>
    void writeTo(To* to, int query) const {
        const float factor = 1.0F / m_rows[query].sum;
        const float* context = m_context + query * m_columns;
        to += query * m_block.contextStride;
        std::int64_t i = 0;
        for (; i + lanes <= m_shape.headDim; i += lanes)
            storeSome(to + i, load(context + i) * factor, lanes);
        if (i < m_shape.headDim)
            storeSome(to + i, load(context + i) * factor, m_shape.headDim - i);
    }

    void write(int query) const {
        if (m_block.context.halves)
            writeTo(m_block.context.halves, query);
        else
            writeTo(m_block.context.floats, query);
    }

    const QueryBlock& m_block;
    const AttentionShape& m_shape;
    QueryTiles m_tiles;
    std::int64_t m_grain; // scores are computed for whole multiples of this number of keys
    std::int64_t m_columns;
    std::int64_t m_stride;
    float* m_scores;          // [queries, m_stride]
    float* m_context;         // [queries, m_columns]
    std::uint16_t* m_rounded; // [queries, m_roundedStride] exponentials, only in bfloat16
    std::int64_t m_roundedStride;
    std::uint16_t* m_queries; // [queries, m_columns], only in bfloat16
    std::int64_t m_begin = 0;
    std::int64_t m_end = 0;
    SoftmaxRow m_rows[VectorLoops::blockQueries];
};

template <typename Number>
SECATEUR_INLINE void copyPadded(const Number* from, std::int64_t stride, std::int64_t rows, std::int64_t width,
                                std::int64_t columns, float* to) {
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t i = 0; i < columns; i += lanes)
            store(to + row * columns + i, loadSome(from + row * stride + i, width - i));
}

/// Prefetches numbers to the L2 cache.
template <typename Number>
SECATEUR_INLINE void fetch(const Number* from, std::int64_t count) {
    for (std::int64_t i = 0; i < count; i += 64 / static_cast<std::int64_t>(sizeof(Number)))
        __builtin_prefetch(from + i, 0, 2);
}

/// One vector whose lane i is the sum of the lanes of sums[i]. In each step half as many vectors are left, and each
/// lane has the sum of twice as many. @param step 1 for the caller
template <int step>
SECATEUR_INLINE Vec sumsOf(Vec (&sums)[lanes]) {
    constexpr int pairs = lanes / (2 * step);
#pragma GCC unroll 8
    for (int i = 0; i < pairs; ++i) {
        Vec a = sums[2 * i];
        Vec b = sums[2 * i + 1];
        exchangePair<step>(a, b, std::make_integer_sequence<int, lanes>());
        sums[i] = a + b;
    }
    if constexpr (pairs > 1)
        return sumsOf<2 * step>(sums);
    return sums[0];
}

/// Scores of one query for `lanes` keys.
SECATEUR_INLINE Vec scoresOfKeys(const float* query, const float* keys, std::int64_t columns) {
    Vec sums[lanes]{};
    for (std::int64_t i = 0; i < columns; i += lanes) {
        const Vec left = load(query + i);
#pragma GCC unroll 16
        for (int key = 0; key < lanes; ++key)
            sums[key] += left * load(keys + key * columns + i);
    }
    return sumsOf<1>(sums);
}

SECATEUR_INLINE void scoreKeys(const float* query, const float* keys, std::int64_t count, std::int64_t columns,
                               float* scores) {
    std::int64_t key = 0;
    for (; key + lanes <= count; key += lanes)
        store(scores + key, scoresOfKeys(query, keys + key * columns, columns));
    for (; key < count; ++key) {
        Vec sum{};
        for (std::int64_t i = 0; i < columns; i += lanes)
            sum += load(query + i) * load(keys + key * columns + i);
        scores[key] = sumOf(sum);
    }
}

/// The vectors of a Source, padded to whole vectors, as float32.
class PaddedRows {
public:
    /// @param spare memory for the rows that are read at a time
    PaddedRows(const Source& from, std::int64_t width, std::int64_t columns, float* spare)
        : m_from(from)
        , m_width(width)
        , m_columns(columns)
        , m_spare(spare) {}

    const float* rows(std::int64_t first, std::int64_t count) const {
        if (m_from.halves)
            copyPadded(m_from.halves + first * m_width, m_width, count, m_width, m_columns, m_spare);
        else if (m_columns != m_width)
            copyPadded(m_from.floats + first * m_width, m_width, count, m_width, m_columns, m_spare);
        else
            return m_from.floats + first * m_width;
        return m_spare;
    }

    void prefetch(std::int64_t first, std::int64_t count) const {
        if (m_from.halves)
            fetch(m_from.halves + first * m_width, count * m_width);
        else
            fetch(m_from.floats + first * m_width, count * m_width);
    }

private:
    const Source& m_from;
    std::int64_t m_width;
    std::int64_t m_columns;
    float* m_spare;
};

} // namespace

void attendBlock(const QueryBlock& block, const AttentionShape& shape, float* scratch) {
    BlockAttention(block, shape, scratch).run();
}

void attendGroup(const QueryGroup& group, const AttentionShape& shape, float* scratch) {
    const std::int64_t columns = inVectors(shape.headDim);
    float* scores = scratch;
    constexpr std::int64_t scoreStride = strideOf(blockKeys);
    float* context = scores + group.heads * scoreStride;
    float* spare = context + group.heads * columns;
    const float* queries = group.queries;
    std::int64_t queryStride = group.queryStride;
    if (columns != shape.headDim) {
        copyPadded(queries, queryStride, group.heads, shape.headDim, columns, spare);
        queries = spare;
        queryStride = columns;
        spare += group.heads * columns;
    }
    constexpr std::int64_t someKeys = 16; // few enough for the L1 cache, in which all heads read them
    const PaddedRows keys(group.keys, shape.headDim, columns, spare);
    const PaddedRows values(group.values, shape.headDim, columns, spare);
    for (std::int64_t begin = 0; begin < group.count; begin += someKeys) {
        const std::int64_t count = smaller(someKeys, group.count - begin);
        values.prefetch(begin, count);
        const float* some = keys.rows(begin, count);
        for (int head = 0; head < group.heads; ++head)
            scoreKeys(queries + head * queryStride, some, count, columns, scores + head * scoreStride + begin);
    }
    for (int head = 0; head < group.heads; ++head) {
        float* own = scores + head * scoreStride;
        const std::int64_t count = inVectors(group.count);
        hide(own, group.count, count); // the scratch memory behind the scores may contain NaN
        const float scale = applyScale(shape, own, count);
        hide(own, group.count, count);
        const SoftmaxRow row = exponentials({-__builtin_inff(), 0, 1, 0}, scale, own, count);
        group.largest[head] = row.largest;
        group.sums[head] = row.sum;
    }
    for (std::int64_t i = 0; i < group.heads * columns; i += lanes)
        store(context + i, Vec{});
    const float* rows = values.rows(0, group.count);
    for (int head = 0; head < group.heads; head += tileRows)
        multiplyColumns(static_cast<int>(smaller(tileRows, group.heads - head)),
                        {scores + head * scoreStride, scoreStride, 1, rows, columns, group.count,
                         context + head * columns, columns, true},
                        columns);
    for (int head = 0; head < group.heads; ++head)
        for (std::int64_t i = 0; i < shape.headDim; i += lanes)
            storeSome(group.context + head * shape.headDim + i, load(context + head * columns + i), shape.headDim - i);
}

void packKeys(const float* keys, std::int64_t stride, std::int64_t count, int headDim, float* panel) {
    for (std::int64_t begin = 0; begin < count; begin += lanes) {
        for (std::int64_t i = 0; i < headDim; i += lanes) {
            Vec square[lanes];
            const bool whole = begin + lanes <= count && i + lanes <= headDim;
            const float* from = keys + begin * stride + i;
#pragma GCC unroll 16
            for (int key = 0; key < lanes; ++key)
                square[key] = whole                 ? load(from + std::int64_t{key} * stride)
                              : begin + key < count ? loadSome(from + std::int64_t{key} * stride, headDim - i)
                                                    : Vec{};
            transpose(square);
            float* to = panel + i * keysOfPanel + begin;
#pragma GCC unroll 16
            for (int line = 0; line < lanes; ++line)
                if (i + line < headDim)
                    store(to + std::int64_t{line} * keysOfPanel, square[line]);
        }
    }
}

} // namespace secateur::SECATEUR_INSTRUCTION_SET
