#include "analysis/metrics/wide_query_key.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr std::int64_t probes = 64;

/// Largest allowed relative error of a squared norm from rounding. Above it, a slower and more precise product is used.
constexpr double mostBias = 3e-6;

/// The precision to which rows are rounded. It is the fastest one of these kernels; but where that is bf16, rows are
/// split, so that products in bf16 and in split precision can use the same rows.
Precision ofFactors(const Kernels& kernels) {
    const Precision first = kernels.precisions().front();
    return first == Precision::bf16 ? Precision::split : first;
}

Rows groupRows(const Kernels& kernels, const WideSource& source, Precision precision) {
    return kernels.rows(source.query, source.gain, source.headDim, source.heads / source.kvHeads, precision);
}

Rows keyRows(const Kernels& kernels, const WideSource& source, Precision precision) {
    return kernels.rows(source.key, source.gain, source.headDim, 1, precision);
}

/// Mean increase of the squared norm when only Rows::high is used (resources/manual/metrics.md, Gate-norm).
double addedByRounding(const Rows& query, const Rows& key) {
    return ((query.lost * key.squares).sum() + (query.squares * key.lost).sum()).item<double>();
}

/// [probes, columns] of 1 and -1, on the processor.
at::Tensor drawnSigns(std::int64_t columns) {
    static_assert(probes == 64, "a draw gives a sign to each");
    at::Tensor signs = at::empty({probes, columns}, at::kFloat);
    auto* values = signs.data_ptr<float>();
    std::mt19937_64 random(1); // NOLINT: always the same signs, so that layers and runs are comparable
    for (std::int64_t column = 0; column < columns; ++column) {
        const std::uint64_t bits = random();
        for (std::int64_t probe = 0; probe < probes; ++probe)
            values[probe * columns + column] = (bits >> probe & 1U) != 0 ? 1.0F : -1.0F;
    }
    return signs;
}

/// drawnSigns() in the type and on the device of `like`. The latest signs are kept, because the next layer mostly has
/// the same width.
at::Tensor randomSigns(const at::Tensor& like) {
    static std::mutex mutex;
    static at::Tensor last;
    const std::scoped_lock lock(mutex);
    if (!last.defined() || last.size(1) != like.size(1))
        last = drawnSigns(like.size(1));
    return last.to(like.options());
}

struct SquareEstimate {
    double square = 0;
    double standardError = 0;
};

/// Hutchinson's estimate of ||query^T key||_F^2.
SquareEstimate estimatedSquare(const Kernels& kernels, const Rows& query, const Rows& key) {
    const at::Tensor projected = kernels.product(key.high, randomSigns(key.high).t()); // [rows, probes]
    const at::Tensor rounded = projected.to(query.high.scalar_type());
    const at::Tensor lost = (projected - rounded.to(at::kFloat)).to(at::kDouble).square_().sum(1);
    const at::Tensor products = kernels.product(rounded.t(), query.high); // [probes, columns]
    const at::Tensor squares = products.to(at::kDouble).square_().sum(1); // [probes]
    const double added = addedByRounding(query, key) + (query.squares * lost).sum().item<double>() / probes;
    const double mean = squares.mean().item<double>() - added;
    return {std::max(mean, 0.0), squares.std().item<double>() / std::sqrt(static_cast<double>(probes))};
}

/// The Gram matrices of the rows of each block without their diagonals, which Rows::squares holds more exactly.
/// -> [blocks, rows / blocks, rows / blocks] float32, zero on the diagonals
at::Tensor gramsBeside(const Kernels& kernels, const Rows& rows, std::int64_t blocks) {
    at::Tensor result = kernels.grams(rows, blocks);
    result.diagonal(0, 1, 2).zero_();
    return result;
}

/// The source of `heads` consecutive heads, from `head` on, with their keys.
WideSource part(const WideSource& source, std::int64_t head, std::int64_t heads) {
    const std::int64_t group = head * source.kvHeads / source.heads;
    const std::int64_t groups = std::max<std::int64_t>(1, heads * source.kvHeads / source.heads);
    const auto rowsOf = [&](const at::Tensor& t, std::int64_t first, std::int64_t count) {
        return t.narrow(0, first * source.headDim, count * source.headDim);
    };
    return {rowsOf(source.query, head, heads), rowsOf(source.key, group, groups), source.gain,
            static_cast<int>(heads),           static_cast<int>(groups),          source.headDim};
}

/// ||sum query^T key||_F^2 over all groups of a source, from Gram matrices in float64.
double exactSquare(const Kernels& kernels, const WideSource& source) {
    const auto gram = [](const Rows& rows) {
        const at::Tensor values = rows.high.to(at::kDouble);
        return values.mm(values.t());
    };
    return (gram(groupRows(kernels, source, Precision::float32)) * gram(keyRows(kernels, source, Precision::float32)))
        .sum()
        .item<double>();
}

/// Whether a value has to be computed again in float64. Products with float32 sums have an error of about 1e-7 times
/// `independent`, the sum of the terms with equal rows. This is too large if the terms cancel to a far smaller square.
bool cancelsTooFar(double square, double independent) {
    constexpr double mostCancellation = 20;
    return independent > mostCancellation * square;
}

/// Squared norms of query^T key for each block of rows, from Gram matrices.
/// @param keyGrams gramsBeside(key), with at most `blocks` blocks: each is for equally many consecutive blocks of
/// `query`
at::Tensor squaredProductNorms(const Kernels& kernels, const WideSource& source, const Rows& query, std::int64_t blocks,
                               const Rows& key, const at::Tensor& keyGrams) {
    const std::int64_t keyBlocks = keyGrams.size(0);
    const at::Tensor independent =
        (query.squares.view({blocks, -1}) * key.squares.view({keyBlocks, -1}).repeat_interleave(blocks / keyBlocks, 0))
            .sum(1)
            .cpu();
    at::Tensor squares = kernels.innerProducts(gramsBeside(kernels, query, blocks), keyGrams) + independent;
    for (std::int64_t block = 0; block < blocks; ++block) {
        if (cancelsTooFar(squares[block].item<double>(), independent[block].item<double>())) {
            const std::int64_t heads = source.heads / blocks;
            squares[block] = exactSquare(kernels, part(source, block * heads, heads));
        }
    }
    return squares;
}

/// Whether the value of a block is exact enough in bfloat16: both if the rounding errors of its rows are independent,
/// and if they are equal, as rounding errors of equal rows are.
bool isExact(const GramInnerProducts& products, std::int64_t block) {
    constexpr double deviations = 3;
    const double square = products.values[block].item<double>();
    const double independent = products.independent[block].item<double>();
    const double apart = deviations * std::sqrt(products.variances[block].item<double>());
    const double alike = products.lost[block].item<double>() * std::abs(square / independent - 1);
    return std::max(apart, alike) / 2 < mostBias * square && !cancelsTooFar(square, independent);
}

/// The source of some heads. @param source with one head per group
WideSource chosenHeads(const WideSource& source, const std::vector<std::int64_t>& heads) {
    const auto rowsOf = [&](const at::Tensor& t) {
        const at::Tensor blocks = t.reshape({source.heads, source.headDim, -1});
        return blocks.index_select(0, at::tensor(heads, at::kLong)).flatten(0, 1);
    };
    const auto count = static_cast<int>(heads.size());
    return {rowsOf(source.query), rowsOf(source.key), source.gain, count, count, source.headDim};
}

/// Squared norms of heads. Norms that rounding may have changed too much are computed again. @param source with one
/// head per group
at::Tensor squaredNormsOfBlocks(const Kernels& kernels, const WideSource& source, const GramInnerProducts& blocks) {
    at::Tensor squares = blocks.values.narrow(0, 0, source.heads).clone();
    std::vector<std::int64_t> inexact;
    for (std::int64_t head = 0; head < source.heads; ++head)
        if (!isExact(blocks, head))
            inexact.push_back(head);
    if (inexact.empty())
        return squares;
    const WideSource again = chosenHeads(source, inexact);
    const Rows query = groupRows(kernels, again, ofFactors(kernels));
    const Rows key = keyRows(kernels, again, ofFactors(kernels));
    const at::Tensor exact =
        squaredProductNorms(kernels, again, query, again.heads, key, gramsBeside(kernels, key, again.heads));
    return squares.index_copy_(0, at::tensor(inexact, at::kLong), exact);
}

bool prefersGrams(const WideSource& source) {
    return source.kvHeads * std::int64_t{source.headDim} < source.key.size(1) / 2;
}

} // namespace

WideQueryKey::WideQueryKey(const Kernels& kernels, WideSource source)
    : m_kernels(kernels)
    , m_source(std::move(source))
    , m_precision(kernels.precisions().front()) {}

const WideQueryKey::Factors& WideQueryKey::factors() {
    if (m_factors)
        return *m_factors;
    const Precision precision = ofFactors(m_kernels);
    Factors read;
    read.query = m_kernels.rows(m_source.query, m_source.gain, m_source.headDim, 1, precision);
    read.group = m_source.heads == m_source.kvHeads ? read.query : groupRows(m_kernels, m_source, precision);
    read.key = keyRows(m_kernels, m_source, precision);
    m_factors = std::make_unique<const Factors>(std::move(read));
    return *m_factors;
}

const at::Tensor& WideQueryKey::keyGram() {
    if (!m_keyGram.defined())
        m_keyGram = gramsBeside(m_kernels, factors().key, 1)[0];
    return m_keyGram;
}

at::Tensor WideQueryKey::groupKeyGrams() {
    if (!prefersGrams(m_source))
        return gramsBeside(m_kernels, factors().key, m_source.kvHeads);
    // The Gram matrix of all key rows, which the layer's norm needs, contains those of the groups.
    const at::Tensor& all = keyGram();
    const std::int64_t size = m_source.headDim;
    return all.as_strided({m_source.kvHeads, size, size}, {size * (all.size(1) + 1), all.size(1), 1});
}

at::Tensor WideQueryKey::squaredHeadNorms() {
    if (m_headNorms.defined())
        return m_headNorms;
    if (m_blocks) {
        m_headNorms = squaredNormsOfBlocks(m_kernels, m_source, *m_blocks);
    } else {
        const Factors& read = factors();
        m_headNorms = squaredProductNorms(m_kernels, m_source, read.query, m_source.heads, read.key, groupKeyGrams());
    }
    return m_headNorms;
}

at::Tensor WideQueryKey::squaredGroupNorms() {
    if (m_source.heads == m_source.kvHeads)
        return squaredHeadNorms();
    const Factors& read = factors();
    return squaredProductNorms(m_kernels, m_source, read.group, m_source.kvHeads, read.key, groupKeyGrams());
}

Precision WideQueryKey::chosenPrecision() {
    const Factors& read = factors();
    const std::span<const Precision> offered = m_kernels.precisions();
    const double added = addedByRounding(read.group, read.key);
    if (added == 0)
        return offered.front();
    // A single product of rounded rows does not show how much rounding changed it.
    if (std::ranges::find(offered, Precision::split) == offered.end())
        return Precision::float32;
    const SquareEstimate estimate = estimatedSquare(m_kernels, read.group, read.key);
    const double atLeast = estimate.square - 2 * estimate.standardError;
    // Rows::low makes the rounding error of a number at least 2^8 times smaller, and its mean share in `added` at least
    // 2^17 times.
    return added / 0x1p17 < mostBias * atLeast ? Precision::split : Precision::float32;
}

double WideQueryKey::squaredLayerNorm(const std::function<void()>& between) {
    between();
    if (prefersGrams(m_source)) {
        const Factors& read = factors();
        const double independent = (read.group.squares * read.key.squares).sum().item<double>();
        const at::Tensor groupGram = gramsBeside(m_kernels, read.group, 1);
        const double square = independent + m_kernels.innerProducts(groupGram, keyGram().unsqueeze(0)).item<double>();
        return cancelsTooFar(square, independent) ? exactSquare(m_kernels, m_source) : square;
    }
    if (!m_blocks && m_source.heads == m_source.kvHeads)
        m_blocks = m_kernels.gramInnerProducts(m_source.query, m_source.key, m_source.gain, m_source.heads, between);
    if (m_blocks && isExact(*m_blocks, m_source.heads)) {
        m_precision = Precision::bf16;
        return m_blocks->values[m_source.heads].item<double>();
    }
    return squaredNormOfProduct(between);
}

double WideQueryKey::squaredNormOfProduct(const std::function<void()>& between) {
    m_precision = chosenPrecision();
    const Factors& read = factors();
    if (m_precision == Precision::float32 && read.key.high.scalar_type() != at::kFloat)
        return m_kernels.squaredNormOfProduct(groupRows(m_kernels, m_source, m_precision),
                                              keyRows(m_kernels, m_source, m_precision), between);
    return m_kernels.squaredNormOfProduct(read.group, read.key, between);
}

bool WideQueryKey::isWorthEstimating(const WideSource& source) {
    return !prefersGrams(source);
}

Estimate WideQueryKey::estimateLayerNorm(const Kernels& kernels, const WideSource& source) {
    const Precision precision = kernels.precisions().front();
    const SquareEstimate estimate =
        estimatedSquare(kernels, groupRows(kernels, source, precision), keyRows(kernels, source, precision));
    const double value = std::sqrt(estimate.square);
    // The error of the root follows from its slope; but if the square is less than a quarter of its error, it is the
    // root of the square's error.
    return {value, std::min(estimate.standardError / (2 * value), std::sqrt(estimate.standardError))};
}

} // namespace secateur
