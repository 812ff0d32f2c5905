#include "analysis/metrics/layer_sums.h"

#include "analysis/masks/projection_weight.h"

#include "analysis/model/kernels.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

void addTo(std::vector<double>& sums, std::span<const double> more, double factor = 1) {
    sums.resize(std::max(sums.size(), more.size()));
    for (std::size_t i = 0; i < more.size(); ++i)
        sums[i] += factor * more[i];
}

std::span<const double> numbersOf(const at::Tensor& tensor) {
    return {tensor.data_ptr<double>(), static_cast<std::size_t>(tensor.numel())};
}

/// Number of a row's positions over which a part sums. @param part index in LayerSums::parts
int countOf(int length, std::size_t part) {
    return length - static_cast<int>(part);
}

/// Inner products of x, a and z of one token, in the order of TokenKernels::innerProducts().
struct Products {
    double xx, aa, zz, xa, xz, az;
};

/// 1 - cosine of two vectors; 0.5 if one of them has length 0, NaN if one is not finite.
/// @param product <a, b> @param squareA, squareB |a|², |b|²
double oneMinusCosine(double product, double squareA, double squareB, PartSums& part) {
    if (!(squareA <= 0) && !(squareB <= 0))
        return 1 - product / std::sqrt(squareA * squareB);
    part.at(TokenSum::undirected) += 1;
    return 0.5;
}

void addCosines(const Products& p, bool isUpdated, NormPlace place, PartSums& part) {
    part.at(TokenSum::updates) += isUpdated ? 1 : 0;
    part.at(TokenSum::input) += std::sqrt(p.xx);
    part.at(TokenSum::update) += std::sqrt(p.aa);
    part.at(TokenSum::block) += oneMinusCosine(p.xz, p.xx, p.zz, part);
    const double sum = p.xx + 2 * p.xa + p.aa; // |x + a|²
    const double before = isUpdated ? oneMinusCosine(p.xx + p.xa, p.xx, sum, part) : 0;
    if (place == NormPlace::after) {
        part.at(TokenSum::attentionSum) += before;
        return;
    }
    part.at(TokenSum::attention) += before;
    // In a parallel block, the stream with the MLP's update alone, x + f, is z - a.
    part.at(TokenSum::mlp) += place == NormPlace::parallel
                                  ? oneMinusCosine(p.xz - p.xa, p.xx, p.zz - 2 * p.az + p.aa, part)
                                  : oneMinusCosine(p.xz + p.az, sum, p.zz, part);
}

at::Tensor normalised(const at::Tensor& x, const SumNorm& norm) {
    const at::Tensor centred = x - x.mean(-1, true);
    const at::Tensor scaled = centred / (centred.square().mean(-1, true) + norm.epsilon).sqrt();
    const at::Tensor weighted = norm.weight.defined() ? scaled * norm.weight : scaled;
    return norm.bias.defined() ? weighted + norm.bias : weighted;
}

/// For post-norm models: adds 1 - cosine between the normalised stream with a sublayer's update and the same norm of
/// the stream without it. If an MLP update is given, also 1 - cosine of the stream before and after it, without the
/// norm.
void addNormalisedCosines(const LayerStreams& streams, std::int64_t row, int length,
                          const std::array<SumNorm, 2>& norms, LayerSums& sums) {
    const auto of = [&](const at::Tensor& all) { return all[row].narrow(0, 0, length).to(at::kDouble); };
    const auto cosines = [](const at::Tensor& a, const at::Tensor& b) {
        const at::Tensor lengths = a.norm(2, -1) * b.norm(2, -1);
        return (1 - (a * b).sum(-1) / lengths).masked_fill(lengths.eq(0), 0.5).cpu();
    };
    const auto add = [&](TokenSum which, const at::Tensor& perToken) {
        const auto values = numbersOf(perToken);
        for (std::size_t part = 0; part < 2; ++part)
            for (std::size_t i = part; i < values.size(); ++i)
                sums.parts[part].at(which) += values[i];
    };
    const at::Tensor x = of(streams.input);
    const at::Tensor sum = streams.update.defined() ? x + of(streams.update) : x;
    const at::Tensor y = normalised(sum, norms[0]);
    if (streams.update.defined())
        add(TokenSum::attention, cosines(normalised(x, norms[0]), y));
    add(TokenSum::mlp, cosines(normalised(y, norms[1]), of(streams.output)));
    if (streams.mlpUpdate.defined())
        add(TokenSum::mlpSum, cosines(y, y + of(streams.mlpUpdate)));
}

/// Adds token similarity (mean cosine over pairs of tokens) and token spread (distance of tokens from their mean) of a
/// sequence.
/// @param unit sum of the tokens' vectors, each divided by its length @param plain sum of the vectors themselves
/// @param directed number of vectors that are not 0 @param squares sum of squared lengths @param count number of tokens
void addSimilarity(std::span<const double> unit, std::span<const double> plain, double directed, double squares,
                   double count, PartSums& part) {
    const auto squaredLength = [](std::span<const double> v) {
        double sum = 0;
        for (const double number : v)
            sum += number * number;
        return sum;
    };
    if (count < 2)
        return;
    part.at(TokenSum::pairs) += 1;
    if (!std::isfinite(squares)) {
        part.at(TokenSum::similarity) = part.at(TokenSum::spread) = std::numeric_limits<double>::quiet_NaN();
        return;
    }
    part.at(TokenSum::similarity) += directed < 2 ? 0 : (squaredLength(unit) - directed) / (directed * (directed - 1));
    part.at(TokenSum::spread) += squares > 0 ? std::sqrt(std::max(0.0, 1 - squaredLength(plain) / count / squares)) : 0;
}

/// @param products [rows, positions, 6] in the order of Products
void addSimilarities(const TokenKernels& kernels, const at::Tensor& z, const at::Tensor& products,
                     std::span<const int> lengths, LayerSums& sums) {
    const std::int64_t rows = z.size(0);
    at::Tensor factors = at::zeros({rows, z.size(1), 2}, at::kDouble);
    auto factor = factors.accessor<double, 3>();
    const auto product = products.accessor<double, 3>();
    for (std::int64_t row = 0; row < rows; ++row)
        for (std::int64_t t = 1; t < lengths[static_cast<std::size_t>(row)]; ++t) {
            factor[row][t][0] = product[row][t][2] > 0 ? 1 / std::sqrt(product[row][t][2]) : 0;
            factor[row][t][1] = 1;
        }
    const at::Tensor others = kernels.weightedSums(z, factors);
    const at::Tensor firsts = z.select(1, 0).to(at::kCPU, at::kDouble).contiguous();
    for (std::int64_t row = 0; row < rows; ++row) {
        double directed = 0;
        double squares = 0;
        const auto count = static_cast<double>(lengths[static_cast<std::size_t>(row)]);
        for (std::int64_t t = 1; t < lengths[static_cast<std::size_t>(row)]; ++t) {
            directed += product[row][t][2] > 0 ? 1 : 0;
            squares += product[row][t][2];
        }
        const at::Tensor unit = others[row][0].contiguous();
        const at::Tensor plain = others[row][1].contiguous();
        addSimilarity(numbersOf(unit), numbersOf(plain), directed, squares, count - 1, sums.parts[1]);
        const double square = product[row][0][2];
        const at::Tensor first = firsts[row].contiguous();
        const at::Tensor allUnit = square > 0 ? unit + first / std::sqrt(square) : unit;
        const at::Tensor all = plain + first;
        addSimilarity(numbersOf(allUnit), numbersOf(all), directed + (square > 0 ? 1 : 0), squares + square, count,
                      sums.parts[0]);
    }
}

std::vector<double> doublesOf(const at::Tensor& tensor) {
    const at::Tensor own = tensor.to(at::kCPU, at::kDouble).contiguous();
    return {own.data_ptr<double>(), own.data_ptr<double>() + own.numel()};
}

/// Mean magnitude of each column. Computed in blocks of rows, because a whole MLP matrix in float32 would be too large.
at::Tensor meanMagnitudes(const at::Tensor& weight) {
    constexpr std::int64_t blockElements = 1 << 20;
    const std::int64_t step = std::max<std::int64_t>(1, blockElements / std::max<std::int64_t>(1, weight.size(1)));
    at::Tensor sums = at::zeros({weight.size(1)}, at::kDouble);
    for (std::int64_t begin = 0; begin < weight.size(0); begin += step)
        sums += weight.narrow(0, begin, std::min(step, weight.size(0) - begin))
                    .to(at::kFloat)
                    .abs()
                    .sum(0, false, at::kDouble);
    return sums / weight.size(0);
}

/// The factors of a projection's columns, one for each head or neuron; empty = all are 1.
const std::vector<float>& columnFactors(const LayerCompensation& compensation, WeightName which) {
    return which == WeightName::output ? compensation.headScale : compensation.neuronScale;
}

void scale(ColumnSizes& sizes, const std::vector<float>& factors) {
    const std::size_t perFactor = factors.empty() ? 1 : sizes.squares.size() / factors.size();
    for (std::size_t i = 0; i < perFactor * factors.size(); ++i) {
        const double factor = factors[i / perFactor];
        sizes.magnitudes[i] *= std::abs(factor);
        sizes.squares[i] *= factor * factor;
    }
}

} // namespace

const ColumnSizes& WritingWeights::columns(int layer, WeightName which) {
    const auto [found, isNew] = m_columns.try_emplace({layer, which});
    if (isNew) {
        const at::Tensor weight = projectionWeight(m_model, layer, which, compensationOf(m_mask.layer(layer)));
        found->second = {doublesOf(meanMagnitudes(weight)), doublesOf(m_model.kernels().columnSquares(weight))};
        scale(found->second, columnFactors(compensationOf(m_mask.layer(layer)), which));
    }
    return found->second;
}

at::Tensor WritingWeights::ofHeads(int layer, const std::vector<std::size_t>& heads, const at::Tensor& context) {
    if (const auto known = m_heads.find(layer); known != m_heads.end())
        return known->second;
    if (!m_keeps)
        m_heads.clear();
    const std::int64_t headDim = context.size(3);
    const std::vector<std::int64_t> indices(heads.begin(), heads.end());
    const LayerCompensation& compensation = compensationOf(m_mask.layer(layer));
    const at::Tensor weight = projectionWeight(m_model, layer, WeightName::output, compensation);
    const at::Tensor byHead = weight.reshape({weight.size(0), -1, headDim}).transpose(0, 1); // [heads, hidden, headDim]
    const at::ScalarType type = m_type == ComputeType::bfloat16 ? at::kBFloat16 : at::kFloat;
    at::Tensor own = byHead.index_select(0, at::tensor(indices, at::kLong));
    if (const std::vector<float>& factors = compensation.headScale; !factors.empty()) {
        const at::Tensor all = at::tensor(at::ArrayRef<float>(factors)).index_select(0, at::tensor(indices, at::kLong));
        own = own.to(at::kFloat) * all.to(own.device()).view({-1, 1, 1});
    }
    own = own.to(context.device(), type);
    return m_heads.emplace(layer, own.contiguous()).first->second;
}

void ColumnTotals::add(const ColumnTotals& other) {
    addTo(magnitudes, other.magnitudes);
    addTo(sums, other.sums);
    addTo(squares, other.squares);
}

void LayerSums::add(const LayerSums& other) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
        for (std::size_t i = 0; i < tokenSums; ++i)
            parts[part].tokens[i] += other.parts[part].tokens[i];
        parts[part].context.add(other.parts[part].context);
        parts[part].neurons.add(other.parts[part].neurons);
        addTo(parts[part].contributions, other.parts[part].contributions);
    }
    own.resize(std::max(own.size(), other.own.size()));
    for (std::size_t i = 0; i < other.own.size(); ++i)
        addTo(own[i], other.own[i]);
}

void put(Packer& packer, const LayerSums& sums) {
    for (const PartSums& part : sums.parts) {
        packer.put(part.tokens);
        for (const ColumnTotals* totals : {&part.context, &part.neurons})
            for (const std::vector<double>* columns : {&totals->magnitudes, &totals->sums, &totals->squares})
                packer.put(*columns);
        packer.put(part.contributions);
    }
    packer.put(sums.own);
}

void get(Unpacker& unpacker, LayerSums& sums) {
    for (PartSums& part : sums.parts) {
        unpacker.get(part.tokens);
        for (ColumnTotals* totals : {&part.context, &part.neurons})
            for (std::vector<double>* columns : {&totals->magnitudes, &totals->sums, &totals->squares})
                unpacker.get(*columns);
        unpacker.get(part.contributions);
    }
    unpacker.get(sums.own);
}

void addRows(std::span<const int> lengths, LayerSums& sums) {
    for (const int length : lengths)
        for (std::size_t part = 0; part < 2; ++part) {
            sums.parts[part].at(TokenSum::rows) += countOf(length, part) > 0 ? 1 : 0;
            sums.parts[part].at(TokenSum::tokens) += countOf(length, part);
        }
}

void addStreams(const TokenKernels& kernels, const LayerStreams& streams, std::span<const int> lengths, NormPlace place,
                const std::array<SumNorm, 2>& norms, const StreamWishes& wishes, LayerSums& sums) {
    const bool isUpdated = streams.update.defined();
    const at::Tensor update = isUpdated ? streams.update : at::zeros_like(streams.input);
    const at::Tensor products = kernels.innerProducts(streams.input, update, streams.output);
    const auto p = products.accessor<double, 3>();
    for (std::int64_t row = 0; row < products.size(0); ++row) {
        const int length = lengths[static_cast<std::size_t>(row)];
        for (std::size_t part = 0; part < 2; ++part)
            for (int t = static_cast<int>(part); wishes.cosines && t < length; ++t) {
                const auto own = p[row][t];
                addCosines({own[0], own[1], own[2], own[3], own[4], own[5]}, isUpdated, place, sums.parts[part]);
            }
        if (wishes.cosines && place == NormPlace::after)
            addNormalisedCosines(streams, row, length, norms, sums);
    }
    if (wishes.similarity)
        addSimilarities(kernels, streams.output, products, lengths, sums);
}

void addColumns(const TokenKernels& kernels, const at::Tensor& values, std::span<const int> lengths,
                ColumnTotals PartSums::*totals, LayerSums& sums) {
    const at::Tensor others = kernels.columnSums(values, lengths); // [rows, 3, width]
    const at::Tensor first = values.select(1, 0).to(at::kCPU, at::kDouble);
    const at::Tensor firsts = at::stack({first.abs(), first, first.square()}, 1);
    for (std::size_t part = 0; part < 2; ++part) {
        const at::Tensor all = part == 0 ? others + firsts : others;
        ColumnTotals& own = sums.parts[part].*totals;
        for (std::int64_t row = 0; row < all.size(0); ++row) {
            const int count = countOf(lengths[static_cast<std::size_t>(row)], part);
            if (count == 0)
                continue;
            addTo(own.magnitudes, numbersOf(all[row][0]), 1.0 / count);
            addTo(own.sums, numbersOf(all[row][1]));
            addTo(own.squares, numbersOf(all[row][2]));
        }
    }
}

void addContributions(const TokenKernels& kernels, const at::Tensor& context, const at::Tensor& weights,
                      std::span<const int> lengths, LayerSums& sums) {
    const at::Tensor all = kernels.contributions(context, weights).contiguous(); // [rows, positions, heads]
    const auto heads = static_cast<std::size_t>(all.size(2));
    for (std::int64_t row = 0; row < all.size(0); ++row) {
        const int length = lengths[static_cast<std::size_t>(row)];
        for (std::size_t part = 0; part < 2; ++part)
            for (int t = static_cast<int>(part); t < length; ++t)
                addTo(sums.parts[part].contributions,
                      {all.data_ptr<double>() + (row * all.size(1) + t) * all.size(2), heads},
                      1.0 / countOf(length, part));
    }
}

} // namespace secateur
