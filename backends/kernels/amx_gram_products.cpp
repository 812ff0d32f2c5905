
#include "backends/kernels/amx_products.h"
#include "backends/kernels/parallel_loops.h"
#include "backends/kernels/rounding.h"

#include <ATen/ATen.h>

namespace secateur::amx {

namespace {

/// A matrix rounded to bfloat16 and packed as both factors of its Gram matrix.
class RoundedSource {
public:
    RoundedSource(const at::Tensor& source, const at::Tensor& gain)
        : m_left(Side::left, source.size(0), source.size(1))
        , m_right(Side::right, source.size(0), source.size(1)) {
        for (at::Tensor* sums : {&m_rows.squares, &m_rows.rounded, &m_rows.lost})
            *sums = at::empty({source.size(0)}, at::kDouble);
        // A few rows at a time, so that they are still in the L2 cache when they are packed.
        constexpr std::int64_t atOnce = widthOf(Side::right);
        forEachRow(m_right.factor().strips, atOnce * source.size(1), [&](std::int64_t strip) {
            const std::int64_t first = strip * atOnce;
            const std::int64_t count = std::min(atOnce, source.size(0) - first);
            const Rows some = roundedRows(source.narrow(0, first, count), gain, count, 1, Precision::bf16);
            m_rows.squares.narrow(0, first, count).copy_(some.squares);
            m_rows.rounded.narrow(0, first, count).copy_(some.rounded);
            m_rows.lost.narrow(0, first, count).copy_(some.lost);
            m_left.fill(some.high, strip * tilesOf(Side::right));
            m_right.fill(some.high, strip);
        });
        m_tileSquares = largestOfTiles(m_rows.squares);
        m_tileLost = largestOfTiles(m_rows.lost);
        m_spread = spreadOf(source, gain);
    }

    const Rows& rows() const { return m_rows; }
    Pair pair() const { return {m_left.factor(), m_right.factor()}; }

    /// An estimate of the variance that rounding adds to an inner product of a row of tile a and a row of tile b. It is
    /// computed from the largest row sums of each tile.
    double variance(std::int64_t a, std::int64_t b) const {
        const double* squares = m_tileSquares.data_ptr<double>();
        const double* lost = m_tileLost.data_ptr<double>();
        return (squares[a] * lost[b] + lost[a] * squares[b]) * m_spread;
    }

private:
    static at::Tensor largestOfTiles(const at::Tensor& rows) {
        const at::Tensor padded = at::zeros({parts(rows.size(0), tileWidth) * tileWidth}, at::kDouble);
        padded.narrow(0, 0, rows.size(0)).copy_(rows);
        return padded.view({-1, tileWidth}).amax(1);
    }

    /// Each column contributes a share to the sum of all squares. Returns the sum of the squared shares: 1 / columns if
    /// all shares are equal, more if a few columns dominate.
    static double spreadOf(const at::Tensor& source, const at::Tensor& gain) {
        constexpr std::int64_t apart = 61; // a sample of the rows is enough; this is the distance between sampled rows
        at::Tensor squares = columnSquares(source.slice(0, 0, source.size(0), apart));
        if (gain.defined())
            squares = squares * gain.square();
        const at::Tensor shares = squares / squares.sum();
        return shares.square().sum().item<double>();
    }

    Packed m_left;
    Packed m_right;
    Rows m_rows;
    at::Tensor m_tileSquares;
    at::Tensor m_tileLost;
    double m_spread = 0;
};

void clearDiagonal(float* tile) {
    for (std::int64_t i = 0; i < tileWidth; ++i)
        tile[i * tileWidth + i] = 0;
}

/// Sums of products and of their rounding variances over tiles. They are summed for each block of rows, and then for
/// all rows.
class Sums {
public:
    /// @param numbers [2, blocks + 1] float64, to which terms are added
    Sums(const at::Tensor& numbers, std::int64_t tilesInBlock)
        : m_numbers(numbers.data_ptr<double>())
        , m_all(numbers.size(1) - 1)
        , m_tilesInBlock(tilesInBlock) {}

    void add(std::int64_t i, std::int64_t j, double value, double variance) {
        addTo(m_all, value, variance);
        if (i / m_tilesInBlock == j / m_tilesInBlock)
            addTo(i / m_tilesInBlock, value, variance);
    }

private:
    void addTo(std::int64_t index, double value, double variance) {
        m_numbers[index] += value;
        m_numbers[m_all + 1 + index] += variance;
    }

    double* m_numbers;
    std::int64_t m_all;
    std::int64_t m_tilesInBlock;
};

/// Two matrices of the same shape whose Gram matrices are multiplied element by element.
class TwoSources {
public:
    TwoSources(const at::Tensor& query, const at::Tensor& key, const at::Tensor& gain)
        : m_query(query, gain)
        , m_key(key, gain)
        , m_queryPair(m_query.pair())
        , m_keyPair(m_key.pair())
        , m_blocks(m_queryPair.left, m_queryPair.right, true) {}

    const Rows& query() const { return m_query.rows(); }
    const Rows& key() const { return m_key.rows(); }
    const Blocks& blocks() const { return m_blocks; }

    /// Adds the terms of one block. Leaves out products of a row with itself.
    /// @param products scratch memory for the products of two blocks
    void addBlock(std::int64_t index, float* products, Sums sums) const {
        const Block& block = m_blocks.at(index);
        float* ofKeys = products + m_blocks.floats();
        multiply({&m_queryPair, 1}, block, false, products);
        multiply({&m_keyPair, 1}, block, false, ofKeys);
        const std::int64_t rows = query().squares.size(0);
        forEachTile(block, [&](std::int64_t row, std::int64_t column, std::int64_t place) {
            if (column <= row && row < rows)
                addTile(row / tileWidth, column / tileWidth, products + place, ofKeys + place, sums);
        });
    }

private:
    void addTile(std::int64_t i, std::int64_t j, float* query, float* key, Sums& sums) const {
        if (i == j) {
            clearDiagonal(query);
            clearDiagonal(key);
        }
        // A tile that is not on the diagonal also counts for its transpose, which has the same rounding errors.
        const double times = i == j ? 1 : 2;
        const TileSums tile = sumsOf(query, key);
        const double variance = m_query.variance(i, j) * tile.second + m_key.variance(i, j) * tile.first;
        sums.add(i, j, times * tile.products, 2 * times * variance);
    }

    RoundedSource m_query;
    RoundedSource m_key;
    Pair m_queryPair;
    Pair m_keyPair;
    Blocks m_blocks;
};

/// Sums of row values: for each block of rows, and for all rows.
at::Tensor overBlocks(const at::Tensor& ofRows, std::int64_t blocks) {
    return at::cat({ofRows.view({blocks, -1}).sum(1), ofRows.sum().view({1})});
}

/// The part of rounding errors that is proportional to the numbers, as a factor for each row. The mean relative error
/// of a product of two different rows is the sum of their factors. For normally distributed numbers, the factor is
/// about minus the share of the squares that rounding removes.
at::Tensor roundingBias(const Rows& rows, std::int64_t blocks) {
    return overBlocks(rows.rounded - rows.squares - rows.lost, blocks) / (2 * overBlocks(rows.squares, blocks));
}

} // namespace

bool suitsGramInnerProducts(const at::Tensor& query, const at::Tensor& key, std::int64_t blocks) {
    constexpr std::int64_t fewest = 1024; // smallest number of rows and columns for which packing pays off
    const auto isKnown = [](at::ScalarType type) {
        return type == at::kBFloat16 || type == at::kHalf || type == at::kFloat;
    };
    return isHere() && query.sizes() == key.sizes() && isKnown(query.scalar_type()) && isKnown(key.scalar_type()) &&
           std::min(query.size(0), query.size(1)) >= fewest && query.size(0) / blocks % tileWidth == 0;
}

GramInnerProducts gramInnerProducts(const at::Tensor& query, const at::Tensor& key, const at::Tensor& gain,
                                    std::int64_t blocks, const std::function<void()>& between) {
    const TwoSources sources(query, key, gain);
    const std::int64_t count = sources.blocks().count();
    const std::int64_t tilesInBlock = query.size(0) / blocks / tileWidth;
    const at::Tensor sums = at::zeros({count, 2, blocks + 1}, at::kDouble);
    const std::int64_t atOnce = 32 * std::int64_t{at::get_num_threads()};
    for (std::int64_t first = 0; first < count; first += atOnce) {
        between();
        forEachTask(std::min(atOnce, count - first), 2 * sources.blocks().floats(),
                    [&](std::int64_t index, float* products) {
                        sources.addBlock(first + index, products, Sums(sums[first + index], tilesInBlock));
                    });
    }
    const at::Tensor all = sums.sum(0);
    const Rows& q = sources.query();
    const Rows& k = sources.key();
    const at::Tensor independent = overBlocks(q.squares * k.squares, blocks);
    const at::Tensor factor = 1 - 2 * (roundingBias(q, blocks) + roundingBias(k, blocks));
    return {independent + all[0] * factor, independent, all[1],
            overBlocks(q.lost * k.squares + q.squares * k.lost, blocks)};
}

} // namespace secateur::amx
