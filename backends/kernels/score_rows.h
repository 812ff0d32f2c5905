#pragma once

#include "backends/kernels/tile_product.h"

// Functions for loops over rows of attention scores.

namespace secateur::SECATEUR_INSTRUCTION_SET {

namespace {

struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    bool isEmpty() const { return begin >= end; }
};

SECATEUR_INLINE std::int64_t smaller(std::int64_t a, std::int64_t b) {
    return a < b ? a : b;
}

SECATEUR_INLINE std::int64_t greater(std::int64_t a, std::int64_t b) {
    return a > b ? a : b;
}

SECATEUR_INLINE std::int64_t inVectors(std::int64_t count) {
    return (count + lanes - 1) / lanes * lanes;
}

SECATEUR_INLINE Range intersection(Range a, std::int64_t begin, std::int64_t end) {
    return {greater(a.begin, begin), smaller(a.end, end)};
}

SECATEUR_INLINE Range intersection(Range a, Range b) {
    return intersection(a, b.begin, b.end);
}

/// Applies the softcap to the scores, or a scale that is not positive. Returns the scale that exponentials() still has
/// to apply.
[[maybe_unused]] float applyScale(const AttentionShape& shape, float* scores, std::int64_t count) {
    if (shape.softcap > 0) {
        const float before = shape.scale / shape.softcap;
        for (std::int64_t i = 0; i < count; i += lanes)
            store(scores + i, shape.softcap * hyperbolicTangent(load(scores + i) * before));
        return 1;
    }
    if (shape.scale > 0)
        return shape.scale;
    for (std::int64_t i = 0; i < count; i += lanes)
        store(scores + i, load(scores + i) * shape.scale);
    return 1;
}

/// Sets the scores [begin, end) of a row to minus infinity. The row is padded to whole vectors.
SECATEUR_INLINE void hide(float* scores, std::int64_t begin, std::int64_t end) {
    const Ints lane = laneNumbers();
    for (std::int64_t i = begin / lanes * lanes; i < end; i += lanes) {
        const Ints from = lane - static_cast<std::int32_t>(begin - i);
        const Ints to = lane - static_cast<std::int32_t>(end - i);
        const Vec score = load(scores + i);
        store(scores + i, ((from >= 0) & (to < 0)) ? all(-__builtin_inff()) : score);
    }
}

/// The range of keys that at least one of `count` consecutive queries sees. @param first position of the first query
SECATEUR_INLINE Range visibleKeys(const AttentionShape& shape, std::int64_t first, int count, std::int64_t keyEnd) {
    const std::int64_t last = first + count - 1;
    const std::int64_t window = shape.window;
    const std::int64_t after = shape.causal ? last + 1 : window > 0 ? last + window : keyEnd;
    return {window > 0 ? greater(0, first - window + 1) : 0, smaller(after, keyEnd)};
}

/// Consecutive queries of a row, divided into tiles of `height` queries.
struct QueryTiles {
    const AttentionShape& shape;
    std::int64_t first; ///< position of the first query
    int count;
    std::int64_t keyEnd; ///< end of the range of the row's keys
    int height = tileRows;

    /// The range of keys that at least one of the queries [query, query + some) sees.
    Range visible(int query, int some) const { return visibleKeys(shape, first + query, some, keyEnd); }
    Range visible() const { return visible(0, count); }
    /// Number of queries in the tile whose first query is `query`.
    int size(int query) const { return static_cast<int>(smaller(height, count - query)); }
    /// The range of keys that the tile beginning with `query` sees.
    Range keys(int query) const {
        const int begin = query / height * height;
        return visible(begin, size(begin));
    }
};

/// Calls visit(first key of a panel, first query of a tile, vectors of the panel) for all panels and tiles with visible
/// keys.
template <typename Visit>
SECATEUR_INLINE void forEachTile(const QueryTiles& tiles, Range keys, const Visit& visit) {
    for (std::int64_t begin = keys.begin / keysOfPanel * keysOfPanel; begin < keys.end; begin += keysOfPanel)
        for (int query = 0; query < tiles.count; query += tileRows) {
            const Range seen = intersection(intersection(tiles.keys(query), keys), begin, begin + keysOfPanel);
            if (!seen.isEmpty())
                visit(begin, query, static_cast<int>((seen.end - begin + lanes - 1) / lanes));
        }
}

/// Adds the products of weights and rows to `to` [queries, columns].
/// @param weights [queries, keys], `stride` from one query to the next
/// @param rows [keys, columns], `rowStride` from one key to the next
[[maybe_unused]] void addRows(const QueryTiles& tiles, Range keys, const float* weights, std::int64_t stride,
                              const float* rows, std::int64_t rowStride, float* to, std::int64_t columns) {
    constexpr std::int64_t run = 64; // number of keys whose rows stay in the L1 cache while all tiles read them
    for (std::int64_t begin = keys.begin; begin < keys.end; begin += run)
        for (int query = 0; query < tiles.count; query += tileRows) {
            const Range seen = intersection(intersection(tiles.keys(query), keys), begin, begin + run);
            if (seen.isEmpty())
                continue;
            const std::int64_t key = seen.begin - keys.begin;
            multiplyColumns(tiles.size(query),
                            {weights + query * stride + key, stride, 1, rows + key * rowStride, rowStride,
                             seen.end - seen.begin, to + query * columns, columns, true},
                            columns);
        }
}

/// The state of the softmax of a row after the keys so far. Exponentials are exp(score - largest).
struct SoftmaxRow {
    float largest = 0;
    float sum = 0;
    float rescale = 1;  ///< factor for the results of earlier keys after `largest` changed
    float weighted = 0; ///< sum of exponential times (score - largest), if requested
};

/// Continues a row's softmax: replaces scores by their exponentials. @param count a multiple of lanes
template <bool weighs = false>
SECATEUR_INLINE SoftmaxRow exponentials(SoftmaxRow row, float scale, float* scores, std::int64_t count) {
    Vec best = load(scores);
    Vec other = best;
    std::int64_t i = lanes;
    for (; i + 2 * lanes <= count; i += 2 * lanes) {
        best = larger(load(scores + i), best);
        other = larger(load(scores + i + lanes), other);
    }
    if (i < count)
        best = larger(load(scores + i), best);
    const float seen = largestOf(larger(best, other)) * scale;
    const float largest = seen > row.largest ? seen : row.largest;
    const float base = largest == -__builtin_inff() ? 0 : largest;
    Vec sum{};
    Vec weighted{};
    for (i = 0; i < count; i += lanes) {
        const Vec below = load(scores + i) * scale - base;
        const Vec e = exponentialBelow(below);
        store(scores + i, e);
        sum += e;
        if constexpr (weighs)
            weighted += e * larger(below, all(-100)); // 0 times minus infinity would be NaN
    }
    const float rescale = row.largest == largest ? 1 : exponentialBelow(all(row.largest - base))[0];
    const float before = row.sum > 0 ? (row.weighted + row.sum * (row.largest - base)) * rescale : 0;
    return {largest, row.sum * rescale + sumOf(sum), rescale, before + sumOf(weighted)};
}

} // namespace

} // namespace secateur::SECATEUR_INSTRUCTION_SET
