
#include "backends/kernels/loop_table.h"
#include "backends/kernels/score_rows.h"
#include "backends/kernels/vector_rows.h"

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

/// The backward pass of attention for the query heads of a KV group. Heads are processed one after the other, a few
/// queries at a time. The gradients of keys and values are summed over the heads. With s = scale q k^T, p = softmax(s)
/// and c = p v, the gradients are dv = p^T dc; dp = dc v^T; ds = p (dp - <dp, p>); dq = scale ds k; dk = scale ds^T q.
/// A softcap multiplies ds by the derivative of cap tanh(s / cap).
class GroupAttentionBackward {
public:
    GroupAttentionBackward(const GroupBackward& group, const AttentionShape& shape, float* scratch)
        : m_group(group)
        , m_shape(shape)
        , m_columns(inVectors(shape.headDim)) {
        const std::int64_t keys = (group.count + keysOfPanel - 1) / keysOfPanel * keysOfPanel;
        m_stride = strideOf(keys);
        const auto take = [&](std::int64_t numbers) {
            float* const taken = scratch;
            scratch += numbers;
            return taken;
        };
        m_keyPanels = take(keys * shape.headDim);
        m_valuePanels = take(keys * shape.headDim);
        m_keys = take(group.count * m_columns);
        m_dKeys = take(group.count * m_columns);
        m_dValues = take(group.count * m_columns);
        m_queries = take(VectorLoops::blockQueries * m_columns);
        m_dContext = take(VectorLoops::blockQueries * m_columns);
        m_dQueries = take(VectorLoops::blockQueries * m_columns);
        m_scores = take(VectorLoops::blockQueries * m_stride);
        m_dScores = take(VectorLoops::blockQueries * m_stride);
        m_capped = take(keys);
    }

    void run() {
        readKeys();
        for (int head = 0; head < m_group.heads; ++head)
            for (std::int64_t first = 0; first < m_group.count; first += VectorLoops::blockQueries) {
                const auto count = static_cast<int>(smaller(VectorLoops::blockQueries, m_group.count - first));
                const QueryTiles tiles{m_shape, first, count, m_group.count};
                readQueries(tiles, head);
                scoreTiles(tiles);
                for (int query = 0; query < count; ++query)
                    softmaxBackward(tiles, query);
                addQueryGradients(tiles);
                addKeyGradients(tiles);
                writeQueries(tiles, head);
            }
        writeKeys();
    }

private:
    void copy(const float* from, float* to) const {
        for (std::int64_t i = 0; i < m_columns; i += lanes)
            store(to + i, loadSome(from + i, m_shape.headDim - i));
    }

    /// Copies a head, normalises it and rotates it.
    void rotated(const float* from, const NormValues& values, std::int64_t position, float* to) const {
        copy(from, to);
        if (values.weight)
            norm(from, nullptr, nullptr, values, m_shape.headDim, {to, nullptr});
        if (const std::int64_t pairs = m_group.rotary.dims / 2; pairs > 0)
            rotate(m_group.rotary.cosines + position * pairs, m_group.rotary.sines + position * pairs,
                   m_group.rotary.dims, to);
    }

    /// The backward pass of rotated(). Overwrites `gradient`.
    void writeInputGradient(const float* from, const NormValues& values, std::int64_t position, float* gradient,
                            float* to) const {
        if (const std::int64_t pairs = m_group.rotary.dims / 2; pairs > 0)
            rotateBy<true>(m_group.rotary.cosines + position * pairs, m_group.rotary.sines + position * pairs,
                           m_group.rotary.dims, gradient);
        if (values.weight)
            normBackward(from, gradient, values, m_shape.headDim, to);
        else
            write(gradient, m_shape.headDim, {to, nullptr});
    }

    void readKeys() const {
        for (std::int64_t key = 0; key < m_group.count; ++key)
            rotated(m_group.keys + key * m_group.stride, m_group.keyNorm, key, m_keys + key * m_columns);
        for (std::int64_t key = 0; key < m_group.count; key += keysOfPanel) {
            const std::int64_t count = smaller(keysOfPanel, m_group.count - key);
            packKeys(m_keys + key * m_columns, m_columns, count, m_shape.headDim, m_keyPanels + key * m_shape.headDim);
            packKeys(m_group.values + key * m_group.stride, m_group.stride, count, m_shape.headDim,
                     m_valuePanels + key * m_shape.headDim);
        }
        clear(m_dKeys, 0, m_group.count * m_columns);
        clear(m_dValues, 0, m_group.count * m_columns);
    }

    /// Sets whole vectors to 0.
    static void clear(float* numbers, std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; i += lanes)
            store(numbers + i, Vec{});
    }

    void readQueries(const QueryTiles& tiles, int head) const {
        for (int query = 0; query < tiles.count; ++query) {
            const std::int64_t position = tiles.first + query;
            rotated(m_group.queries + position * m_group.stride + std::int64_t{head} * m_shape.headDim,
                    m_group.queryNorm, position, m_queries + query * m_columns);
            copy(m_group.dContext + position * m_group.dContextStride + std::int64_t{head} * m_shape.headDim,
                 m_dContext + query * m_columns);
        }
    }

    /// Computes scores. Also computes the gradients of the probabilities, in m_dScores.
    void scoreTiles(const QueryTiles& tiles) const {
        forEachTile(tiles, tiles.visible(), [&](std::int64_t begin, int query, int vectors) {
            const auto product = [&](const float* rows, const float* panels, float* to) {
                multiply(tiles.size(query), vectors,
                         {rows + query * m_columns, m_columns, 1, panels + begin * m_shape.headDim, keysOfPanel,
                          m_shape.headDim, to + query * m_stride + begin, m_stride, false});
            };
            product(m_queries, m_keyPanels, m_scores);
            product(m_dContext, m_valuePanels, m_dScores);
        });
    }

    /// Replaces the scores of a query by probabilities, and the gradients of probabilities by gradients of scores. Both
    /// are 0 for keys that the query does not see.
    void softmaxBackward(const QueryTiles& tiles, int query) const {
        float* const scores = m_scores + query * m_stride;
        float* const gradients = m_dScores + query * m_stride;
        const Range tile = tiles.keys(query);
        const Range keys{tile.begin / lanes * lanes, inVectors(tile.end)};
        const std::int64_t count = keys.end - keys.begin;
        const float scale = applyScale(m_shape, scores + keys.begin, count);
        if (m_shape.softcap > 0)
            for (std::int64_t i = keys.begin; i < keys.end; i += lanes)
                store(m_capped + i, load(scores + i));
        const Range own = intersection(tiles.visible(query, 1), keys);
        hide(scores, keys.begin, own.begin);
        hide(scores, own.end, keys.end);
        const SoftmaxRow row = exponentials({-__builtin_inff(), 0, 1, 0}, scale, scores + keys.begin, count);
        Vec along{};
        for (std::int64_t i = keys.begin; i < keys.end; i += lanes) {
            const Vec p = load(scores + i) / row.sum;
            store(scores + i, p);
            along += p * load(gradients + i);
        }
        const float mean = sumOf(along);
        for (std::int64_t i = keys.begin; i < keys.end; i += lanes) {
            const Vec gradient = load(scores + i) * (load(gradients + i) - mean) * m_shape.scale;
            store(gradients + i, m_shape.softcap > 0 ? gradient * softcapDerivative(load(m_capped + i)) : gradient);
        }
        const Range seen = tiles.visible(); // addKeyGradients() reads all keys that any query sees
        for (float* const numbers : {scores, gradients}) {
            clear(numbers, seen.begin / lanes * lanes, keys.begin);
            clear(numbers, keys.end, inVectors(seen.end));
        }
    }

    Vec softcapDerivative(Vec capped) const {
        const Vec share = capped * (1.0F / m_shape.softcap);
        return 1.0F - share * share;
    }

    void addQueryGradients(const QueryTiles& tiles) const {
        clear(m_dQueries, 0, tiles.count * m_columns);
        const Range seen = tiles.visible();
        addRows(tiles, seen, m_dScores + seen.begin, m_stride, m_keys + seen.begin * m_columns, m_columns, m_dQueries,
                m_columns);
    }

    /// The queries of the block that see at least one of the keys `key` to `key + count - 1`.
    Range seenBy(const QueryTiles& tiles, std::int64_t key, int count) const {
        const std::int64_t window = m_shape.window;
        const std::int64_t before = m_shape.causal ? key : window > 0 ? key - window + 1 : 0;
        const std::int64_t end = window > 0 ? key + count - 1 + window : m_group.count;
        return {greater(before - tiles.first, 0), smaller(end - tiles.first, tiles.count)};
    }

    void addKeyGradients(const QueryTiles& tiles) const {
        const Range seen = tiles.visible();
        for (std::int64_t key = seen.begin; key < seen.end; key += tileRows) {
            const int count = static_cast<int>(smaller(tileRows, seen.end - key));
            const Range queries = seenBy(tiles, key, count);
            if (queries.isEmpty())
                continue;
            const auto add = [&](const float* weights, const float* rows, float* to) {
                multiplyColumns(count,
                                {weights + queries.begin * m_stride + key, 1, m_stride,
                                 rows + queries.begin * m_columns, m_columns, queries.end - queries.begin,
                                 to + key * m_columns, m_columns, true},
                                m_columns);
            };
            add(m_scores, m_dContext, m_dValues);
            add(m_dScores, m_queries, m_dKeys);
        }
    }

    void writeQueries(const QueryTiles& tiles, int head) const {
        for (int query = 0; query < tiles.count; ++query) {
            const std::int64_t position = tiles.first + query;
            const std::int64_t place = std::int64_t{head} * m_shape.headDim;
            writeInputGradient(m_group.queries + position * m_group.stride + place, m_group.queryNorm, position,
                               m_dQueries + query * m_columns,
                               m_group.dQueries + position * m_group.dQueryStride + place);
        }
    }

    void writeKeys() const {
        for (std::int64_t key = 0; key < m_group.count; ++key) {
            writeInputGradient(m_group.keys + key * m_group.stride, m_group.keyNorm, key, m_dKeys + key * m_columns,
                               m_group.dKeys + key * m_group.dKeyStride);
            write(m_dValues + key * m_columns, m_shape.headDim, {m_group.dValues + key * m_group.dKeyStride, nullptr});
        }
    }

    const GroupBackward& m_group;
    const AttentionShape& m_shape;
    std::int64_t m_columns;
    std::int64_t m_stride = 0;
    float* m_keyPanels;   // panels of [headDim, keysOfPanel]
    float* m_valuePanels; // panels of [headDim, keysOfPanel]
    float* m_keys;        // [count, m_columns], rotated
    float* m_dKeys;       // [count, m_columns]
    float* m_dValues;     // [count, m_columns]
    float* m_queries;     // [block, m_columns], rotated
    float* m_dContext;    // [block, m_columns]
    float* m_dQueries;    // [block, m_columns]
    float* m_scores;      // [block, m_stride]
    float* m_dScores;     // [block, m_stride]
    float* m_capped;      // scores of one query after the softcap
};

} // namespace

void attendBackward(const GroupBackward& group, const AttentionShape& shape, float* scratch) {
    GroupAttentionBackward(group, shape, scratch).run();
}

} // namespace secateur::SECATEUR_INSTRUCTION_SET
