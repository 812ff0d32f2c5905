#include "analysis/wide_query_key.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace secateur {

namespace {

constexpr std::int64_t probes = 64;

/// The part of a norm that rounding may move it by, before a slower product is worth its time.
constexpr double mostBias = 3e-6;

Rows groupRows(const Kernels& kernels, const WideSource& source, Precision precision) {
    return kernels.rows(source.query, source.gain, source.headDim, source.heads / source.kvHeads, precision);
}

Rows keyRows(const Kernels& kernels, const WideSource& source, Precision precision) {
    return kernels.rows(source.key, source.gain, source.headDim, 1, precision);
}

/// What rounding to the upper halves adds to the square of the norm, as the mean over roundings (methods.md 1.3).
double addedByRounding(const Rows& query, const Rows& key) {
    return ((query.lost * key.squares).sum() + (query.squares * key.lost).sum()).item<double>();
}

/// [probes, columns] of 1 and -1 in the type of the rows.
at::Tensor randomSigns(const at::Tensor& like) {
    static_assert(probes == 64, "a draw gives a sign to each");
    const std::int64_t columns = like.size(1);
    at::Tensor signs = at::empty({probes, columns}, at::kFloat);
    auto* values = signs.data_ptr<float>();
    std::mt19937_64 random(1); // NOLINT: the same signs each time are what makes layers and runs comparable
    for (std::int64_t column = 0; column < columns; ++column) {
        const std::uint64_t bits = random();
        for (std::int64_t probe = 0; probe < probes; ++probe)
            values[probe * columns + column] = (bits >> probe & 1U) != 0 ? 1.0F : -1.0F;
    }
    return signs.to(like.scalar_type());
}

struct SquareEstimate {
    double square = 0;
    double standardError = 0;
};

/// Of ||query^T key||_F^2.
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

/// Gram matrices of the rows of each block. -> [blocks, rows / blocks, rows / blocks] float64
at::Tensor grams(const Kernels& kernels, const Rows& rows, std::int64_t blocks) {
    const auto byBlock = [&](const at::Tensor& t) { return t.view({blocks, t.size(0) / blocks, t.size(1)}); };
    const at::Tensor high = byBlock(rows.high);
    at::Tensor result = kernels.product(high, high.transpose(1, 2));
    if (rows.low.defined()) {
        const at::Tensor mixed = kernels.product(high, byBlock(rows.low).transpose(1, 2));
        result += mixed;
        result += mixed.transpose(1, 2);
    }
    // The diagonal dominates, and is known exactly.
    result = result.to(at::kDouble);
    result.diagonal(0, 1, 2).copy_(rows.squares.view({blocks, -1}));
    return result;
}

at::Tensor innerProducts(const at::Tensor& a, const at::Tensor& b) {
    return (a * b).sum({1, 2});
}

bool prefersGrams(const WideSource& source) {
    return source.kvHeads * std::int64_t{source.headDim} < source.key.size(1) / 2;
}

} // namespace

WideQueryKey::WideQueryKey(const Kernels& kernels, WideSource source)
    : m_kernels(kernels)
    , m_source(std::move(source))
    , m_precision(kernels.precisions().front()) {
    const Precision precision = m_precision == Precision::bf16 ? Precision::split : m_precision;
    m_query = kernels.rows(m_source.query, m_source.gain, m_source.headDim, 1, precision);
    m_group = m_source.heads == m_source.kvHeads ? m_query : groupRows(kernels, m_source, precision);
    m_key = keyRows(kernels, m_source, precision);
}

at::Tensor WideQueryKey::squaredHeadNorms() {
    if (!m_headNorms.defined()) {
        const at::Tensor keys = grams(m_kernels, m_key, m_source.kvHeads);
        m_headNorms = innerProducts(grams(m_kernels, m_query, m_source.heads),
                                    keys.repeat_interleave(m_source.heads / m_source.kvHeads, 0));
    }
    return m_headNorms;
}

at::Tensor WideQueryKey::squaredGroupNorms() {
    if (m_source.heads == m_source.kvHeads)
        return squaredHeadNorms();
    return innerProducts(grams(m_kernels, m_group, m_source.kvHeads), grams(m_kernels, m_key, m_source.kvHeads));
}

Precision WideQueryKey::chosenPrecision() const {
    const std::span<const Precision> offered = m_kernels.precisions();
    const double added = addedByRounding(m_group, m_key);
    if (offered.front() == Precision::float32 || added == 0)
        return offered.front();
    const SquareEstimate estimate = estimatedSquare(m_kernels, m_group, m_key);
    const double atLeast = estimate.square - 2 * estimate.standardError;
    const auto bias = [&](Precision precision) {
        // A lower half loses 2^-8 of a number once more.
        return precision == Precision::float32 ? 0 : added / (precision == Precision::bf16 ? 2 : 0x1p17) / atLeast;
    };
    return *std::ranges::find_if(
        offered, [&](Precision p) { return p == Precision::float32 || (atLeast > 0 && bias(p) < mostBias); });
}

double WideQueryKey::squaredLayerNorm(const std::function<void()>& between) {
    between();
    if (prefersGrams(m_source))
        return innerProducts(grams(m_kernels, m_group, 1), grams(m_kernels, m_key, 1)).item<double>();
    m_precision = chosenPrecision();
    if (m_precision == Precision::bf16)
        return m_kernels.squaredNormOfProduct({m_group.high, {}, {}, {}}, {m_key.high, {}, {}, {}}, between);
    if (m_precision == Precision::split || m_key.high.scalar_type() == at::kFloat)
        return m_kernels.squaredNormOfProduct(m_group, m_key, between);
    return m_kernels.squaredNormOfProduct(groupRows(m_kernels, m_source, Precision::float32),
                                          keyRows(m_kernels, m_source, Precision::float32), between);
}

bool WideQueryKey::isWorthEstimating(const WideSource& source) {
    return !prefersGrams(source);
}

Estimate WideQueryKey::estimateLayerNorm(const Kernels& kernels, const WideSource& source) {
    const Precision precision = kernels.precisions().front();
    const SquareEstimate estimate =
        estimatedSquare(kernels, groupRows(kernels, source, precision), keyRows(kernels, source, precision));
    const double value = std::sqrt(estimate.square);
    // Of the root, by its slope; of a square that vanishes in its error, by the error's root.
    return {value, std::min(estimate.standardError / (2 * value), std::sqrt(estimate.standardError))};
}

} // namespace secateur
