#include "analysis/metrics/forward_values.h"

#include "analysis/model/kernels.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace secateur {

namespace {

constexpr double noValue = std::numeric_limits<double>::quiet_NaN();

std::vector<std::size_t> chosen(const std::vector<bool>& flags, bool any) {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; any && i < flags.size(); ++i)
        if (flags[i])
            indices.push_back(i);
    return indices;
}

std::vector<double> listOf(const at::Tensor& tensor) {
    const at::Tensor own = tensor.to(at::kCPU, at::kDouble).contiguous();
    return {own.data_ptr<double>(), own.data_ptr<double>() + own.numel()};
}

/// A few rows at a time: a whole MLP in float64 would be too large.
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

std::vector<double> divided(std::vector<double> sums, double count) {
    for (double& sum : sums)
        sum = count > 0 ? sum / count : noValue;
    return sums;
}

/// z-scores, of the sample.
void standardise(std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    double mean = 0;
    for (const double value : values)
        mean += value / count;
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    const double deviation = std::sqrt(squares / (count - 1));
    for (double& value : values)
        value = deviation > 0 ? (value - mean) / deviation : 0;
}

/// Wanda-SP of each column (methods.md 6).
std::vector<double> wandaOf(const ColumnTotals& totals, const std::vector<double>& magnitudes, double rows) {
    std::vector<double> values = totals.squares;
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = rows > 0 ? magnitudes[i] * std::sqrt(values[i] / rows) : noValue;
    return values;
}

/// FLAP's WIFV of each column.
std::vector<double> fluctuationsOf(const ColumnTotals& totals, const std::vector<double>& squares, double tokens) {
    std::vector<double> values = totals.squares;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double variance = (values[i] - totals.sums[i] * totals.sums[i] / tokens) / (tokens - 1);
        values[i] = tokens > 1 ? std::max(0.0, variance) * squares[i] : noValue;
    }
    return values;
}

/// Of the columns of each head the sum.
std::vector<double> byHead(const std::vector<double>& columns, std::size_t heads) {
    std::vector<double> values(columns.empty() ? 0 : heads);
    const std::size_t width = heads > 0 ? columns.size() / heads : 0;
    for (std::size_t i = 0; i < columns.size(); ++i)
        values[i / width] += columns[i];
    return values;
}

/// One number of a layer, or none.
double streamValue(const MetricRequest& request, const PartSums& part, const KeptUnits& kept, bool ofSums) {
    const auto share = [&](TokenSum sum, TokenSum count) {
        return part.at(count) > 0 ? part.at(sum) / part.at(count) : noValue;
    };
    const std::string_view id = request.info->id;
    if (!kept.block)
        return noValue;
    if (id == "attention_ratio")
        return part.at(TokenSum::updates) > 0 ? share(TokenSum::update, TokenSum::input) : noValue;
    if (id == "attention_importance")
        return share(ofSums ? TokenSum::attentionSum : TokenSum::attention, TokenSum::updates);
    if (id == "mlp_importance")
        return kept.neurons.empty() ? noValue : share(ofSums ? TokenSum::mlpSum : TokenSum::mlp, TokenSum::tokens);
    if (id == "block_influence")
        return share(TokenSum::block, TokenSum::tokens);
    return share(id == "token_similarity" ? TokenSum::similarity : TokenSum::spread, TokenSum::pairs);
}

/// Of the weights' columns those of what is kept, `width` columns each.
std::vector<double> columnsOf(const std::vector<double>& all, const std::vector<std::size_t>& units,
                              std::size_t width) {
    std::vector<double> columns;
    for (const std::size_t unit : units)
        columns.insert(columns.end(), all.begin() + static_cast<std::ptrdiff_t>(unit * width),
                       all.begin() + static_cast<std::ptrdiff_t>((unit + 1) * width));
    return columns;
}

} // namespace

KeptUnits::KeptUnits(const LayerSpec& spec, const LayerMask& mask)
    : heads(chosen(mask.heads,
                   mask.block && mask.attention == AttentionCut::keep && spec.attention == AttentionKind::full))
    , neurons(chosen(mask.neurons, mask.block && mask.mlp))
    , block(mask.block) {}

const ColumnSizes& WritingWeights::columns(int layer, WeightName which) {
    const auto [found, isNew] = m_columns.try_emplace({layer, which});
    if (isNew) {
        const at::Tensor weight = m_model.tensor(layer, which);
        found->second = {listOf(meanMagnitudes(weight)), listOf(m_model.kernels().columnSquares(weight))};
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
    const at::Tensor weight = m_model.tensor(layer, WeightName::output);
    const at::Tensor byHead = weight.reshape({weight.size(0), -1, headDim}).transpose(0, 1); // [heads, hidden, headDim]
    const at::ScalarType type = m_type == ComputeType::bfloat16 ? at::kBFloat16 : at::kFloat;
    const at::Tensor own = byHead.index_select(0, at::tensor(indices, at::kLong)).to(context.device(), type);
    return m_heads.emplace(layer, own.contiguous()).first->second;
}

std::vector<double> valuesOf(const MetricRequest& request, const LayerSums& sums, int layer, const KeptUnits& kept,
                             WritingWeights& weights) {
    const PartSums& part = sums.parts[request.flag("exclude_first") ? 1 : 0];
    const std::string_view id = request.info->id;
    const double rows = part.at(TokenSum::rows);
    const double tokens = part.at(TokenSum::tokens);
    if (request.info->scope == Scope::layer)
        return {streamValue(request, part, kept,
                            request.flag("before_norm") && weights.spec().normPlace == NormPlace::after)};
    if (id == "amp_head")
        return divided(part.contributions, rows);
    if (id == "amp_neuron")
        return divided(part.neurons.magnitudes, rows);
    const bool ofHeads = request.info->scope == Scope::head;
    const ColumnTotals& totals = ofHeads ? part.context : part.neurons;
    if (totals.squares.empty())
        return {};
    const std::vector<std::size_t>& units = ofHeads ? kept.heads : kept.neurons;
    const std::size_t width = totals.squares.size() / units.size();
    const ColumnSizes& columns = weights.columns(layer, ofHeads ? WeightName::output : WeightName::down);
    if (id == "wanda_sp_head" || id == "wanda_sp_neuron") {
        std::vector<double> values = wandaOf(totals, columnsOf(columns.magnitudes, units, width), rows);
        return ofHeads ? byHead(values, units.size()) : values;
    }
    std::vector<double> values = fluctuationsOf(totals, columnsOf(columns.squares, units, width), tokens);
    for (double& value : values)
        value *= ofHeads ? value : 1;
    if (!request.flag("raw"))
        standardise(values);
    return ofHeads ? divided(byHead(values, units.size()), static_cast<double>(width)) : values;
}

} // namespace secateur
