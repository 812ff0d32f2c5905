#include "analysis/metrics/weight_metrics.h"

#include "analysis/metrics/query_key.h"
#include "analysis/metrics/wide_query_key.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

// --- gate-norm: || sum_h Wq_h^T Wk_g(h) ||_F (Gate-Norm paper; methods.md 1)
// ------------------------------------------

constexpr std::array groupOptions{
    OptionInfo{"augmented", "bool", "false", "append the query and key biases to the weights as one more column"},
    OptionInfo{"fold_norm", "bool", "false", "multiply the columns of W_q and W_k by the input norm's weight"},
    OptionInfo{"rope_averaged", "bool", "false", "root mean square over all rotary phases instead of offset 0"},
};

constexpr std::array gateNormOptions{
    groupOptions[0],
    groupOptions[1],
    OptionInfo{"qk_norm", "bool", "false",
               "where queries and keys are normed: take the scale of W_q and W_k out and their norms' weights in"},
    groupOptions[2],
};

double frobenius(const at::Tensor& a, const at::Tensor& b) {
    return (a * b).sum().item<double>();
}

/// Gram matrices of the rows of each head. [heads, rows, columns] -> [heads, rows, rows]
at::Tensor grams(const at::Tensor& heads) {
    return heads.bmm(heads.transpose(1, 2));
}

/// The rows that rotary positions turn, as the first and second of each pair, and those that pass through.
struct RotaryRows {
    at::Tensor first;  // [heads, dims / 2, columns]
    at::Tensor second; // [heads, dims / 2, columns]
    at::Tensor rest;   // [heads, headDim - dims, columns]
};

RotaryRows rotaryRows(const at::Tensor& heads, int dims) {
    return {heads.narrow(1, 0, dims / 2), heads.narrow(1, dims / 2, dims / 2),
            heads.narrow(1, dims, heads.size(1) - dims)};
}

/// Squared norm of query_h^T key_h for each head; both [heads, headDim, columns].
at::Tensor squaredHeadNorms(const at::Tensor& query, const at::Tensor& key) {
    return (grams(query) * grams(key)).sum({1, 2});
}

/// The same as a mean over independent uniform rotary phases: the pairs need their row norms alone (methods.md 1.5).
at::Tensor meanSquaredHeadNorms(const at::Tensor& query, const at::Tensor& key, int rotaryDims) {
    const RotaryRows q = rotaryRows(query, rotaryDims);
    const RotaryRows k = rotaryRows(key, rotaryDims);
    const at::Tensor qPairs = q.first.square().sum(2) + q.second.square().sum(2);
    const at::Tensor kPairs = k.first.square().sum(2) + k.second.square().sum(2);
    return (qPairs * kPairs).sum(1) / 2 + squaredHeadNorms(q.rest, k.rest);
}

/// Squared norm of the sum over all groups; both [kvHeads, headDim, columns].
double squaredLayerNorm(const at::Tensor& groupQuery, const at::Tensor& key) {
    const at::Tensor query = groupQuery.flatten(0, 1); // [rows, columns]
    const at::Tensor keys = key.flatten(0, 1);
    const std::int64_t rows = query.size(0);
    const std::int64_t columns = query.size(1);
    if (rows < columns / 2)
        return frobenius(query.mm(query.t()), keys.mm(keys.t()));
    // Wide keys: the product itself is cheaper. float32 is exact enough here, its squares are summed in float64.
    const at::Tensor queryT = query.to(at::kFloat).t().contiguous();
    const at::Tensor keyBlocks = keys.to(at::kFloat);
    constexpr std::int64_t blockRows = 640;
    double sum = 0;
    for (std::int64_t begin = 0; begin < columns; begin += blockRows) {
        const at::Tensor block = queryT.narrow(0, begin, std::min(blockRows, columns - begin)).mm(keyBlocks);
        sum += block.to(at::kDouble).square_().sum().item<double>();
    }
    return sum;
}

/// The same as a mean over rotary phases, which all heads share: cross terms between groups stay (methods.md 1.5).
double meanSquaredLayerNorm(const at::Tensor& groupQuery, const at::Tensor& key, int rotaryDims) {
    const auto byPair = [](const at::Tensor& rows) { return rows.transpose(0, 1).contiguous(); };
    const RotaryRows q = rotaryRows(groupQuery, rotaryDims);
    const RotaryRows k = rotaryRows(key, rotaryDims);
    const at::Tensor q1 = byPair(q.first); // [pairs, kvHeads, columns]
    const at::Tensor q2 = byPair(q.second);
    const at::Tensor k1 = byPair(k.first);
    const at::Tensor k2 = byPair(k.second);
    const at::Tensor turn = q1.bmm(q2.transpose(1, 2));
    const double pairs = frobenius(grams(q1) + grams(q2), grams(k1) + grams(k2)) / 2 +
                         frobenius(turn - turn.transpose(1, 2), k1.bmm(k2.transpose(1, 2)));
    return pairs + squaredLayerNorm(q.rest, k.rest);
}

QueryKeyVariant variant(const MetricRequest& request) {
    return {request.flag("fold_norm"), request.flag("augmented"), false};
}

bool takesScaleOut(const LayerWeights& weights, const MetricRequest& request) {
    return weights.spec().normsHeads && request.flag("qk_norm");
}

bool averagesPhases(const LayerWeights& weights, const MetricRequest& request) {
    return request.flag("rope_averaged") && weights.spec().rotary.dims > 0;
}

/// Whether the products for wide layers give the request's values.
bool isOfWideLayer(const LayerWeights& weights, const MetricRequest& request) {
    return weights.hasWideQueryKey(variant(request)) && !takesScaleOut(weights, request) &&
           !averagesPhases(weights, request);
}

/// Sums of signed terms can end a rounding error below zero.
double root(double square) {
    return std::sqrt(std::max(square, 0.0));
}

void fillRoots(const at::Tensor& squares, std::span<double> cells) {
    const at::Tensor values = squares.contiguous();
    std::transform(values.data_ptr<double>(), values.data_ptr<double>() + values.numel(), cells.begin(), root);
}

void gateNormOfHeads(LayerWeights& weights, const MetricRequest& request, std::span<double> cells) {
    if (isOfWideLayer(weights, request))
        return fillRoots(weights.wideQueryKey(variant(request)).squaredHeadNorms(), cells);
    QueryKeyVariant chosen = variant(request);
    chosen.normedHeads = takesScaleOut(weights, request);
    const QueryKey& qk = weights.queryKey(chosen);
    const LayerSpec& layer = weights.spec();
    const at::Tensor keys = qk.key.repeat_interleave(layer.heads / layer.kvHeads, 0); // one for each query head
    fillRoots(averagesPhases(weights, request) ? meanSquaredHeadNorms(qk.query, keys, layer.rotary.dims)
                                               : squaredHeadNorms(qk.query, keys),
              cells);
}

void gateNormOfGroups(LayerWeights& weights, const MetricRequest& request, std::span<double> cells) {
    if (isOfWideLayer(weights, request))
        return fillRoots(weights.wideQueryKey(variant(request)).squaredGroupNorms(), cells);
    const QueryKey& qk = weights.queryKey(variant(request));
    fillRoots(averagesPhases(weights, request) ? meanSquaredHeadNorms(qk.groupQuery, qk.key, weights.spec().rotary.dims)
                                               : squaredHeadNorms(qk.groupQuery, qk.key),
              cells);
}

void headwiseGateNorm(LayerWeights& weights, const MetricRequest& request, std::span<double> cells) {
    std::vector<double> heads(static_cast<std::size_t>(weights.spec().heads));
    gateNormOfHeads(weights, request, heads);
    double squares = 0;
    for (const double value : heads)
        squares += value * value;
    cells[0] = std::sqrt(squares);
}

void gateNorm(LayerWeights& weights, const MetricRequest& request, std::span<double> cells) {
    // Heads that are normed apart have no common scale in which they could cancel (methods.md 1.5).
    if (takesScaleOut(weights, request))
        return headwiseGateNorm(weights, request, cells);
    if (isOfWideLayer(weights, request)) {
        const double square = weights.wideQueryKey(variant(request)).squaredLayerNorm([&] { weights.checkProgress(); });
        cells[0] = root(square);
        return;
    }
    const QueryKey& qk = weights.queryKey(variant(request));
    cells[0] =
        root(averagesPhases(weights, request) ? meanSquaredLayerNorm(qk.groupQuery, qk.key, weights.spec().rotary.dims)
                                              : squaredLayerNorm(qk.groupQuery, qk.key));
}

std::optional<Estimate> estimatedGateNorm(LayerWeights& weights, const MetricRequest& request) {
    if (!isOfWideLayer(weights, request))
        return {};
    const WideSource source = weights.wideSource(variant(request));
    if (!WideQueryKey::isWorthEstimating(source))
        return {};
    return WideQueryKey::estimateLayerNorm(weights.kernels(), source);
}

// --- Mag-SP: norms of the columns that write into the residual stream (methods.md 6) ---------------------------------

/// ||W_{:,j}||_2 for each column of a weight, [out, in].
at::Tensor columnNorms(LayerWeights& weights, WeightName which) {
    return weights.kernels().columnSquares(weights.stored(which)).sqrt_();
}

void fill(const at::Tensor& values, std::span<double> cells) {
    std::copy_n(values.data_ptr<double>(), cells.size(), cells.begin());
}

void magnitudeOfHeads(LayerWeights& weights, const MetricRequest&, std::span<double> cells) {
    fill(columnNorms(weights, WeightName::output).reshape({weights.spec().heads, -1}).sum(1), cells);
}

void magnitudeOfNeurons(LayerWeights& weights, const MetricRequest&, std::span<double> cells) {
    fill(columnNorms(weights, WeightName::down), cells);
}

// --- what a layer must have ------------------------------------------------------------------------------------------

bool hasQueryAndKey(const LayerSpec& layer) {
    return layer.attention == AttentionKind::full && layer.kvHeads > 0;
}

bool hasOutputOfHeads(const LayerSpec& layer) {
    return (layer.attention == AttentionKind::full || layer.attention == AttentionKind::valueOnly) && layer.heads > 0;
}

bool hasNeurons(const LayerSpec& layer) {
    return layer.ffn > 0;
}

// --- the table -------------------------------------------------------------------------------------------------------

constexpr std::string_view gateNormPaper = "Gate-Norm: data-free attention pruning";
constexpr std::span<const OptionInfo> noOptions;
constexpr std::string_view flapSource = "FLAP's repository, Mag-SP";
constexpr std::string_view ownWeightMetric = "Secateur's generalisation of Gate-Norm";

const std::array weightTable{
    WeightMetric{{"gate_norm", "gate-norm",
                  "How strongly a layer's queries and keys are coupled: small means near-uniform attention",
                  "‖Σ_h W_q⁽ʰ⁾ᵀ W_k⁽ᵍ⁽ʰ⁾⁾‖_F", "", gateNormPaper, Scope::layer, Needs::weights, PruneFirst::low,
                  gateNormOptions},
                 gateNorm,
                 hasQueryAndKey,
                 estimatedGateNorm},
    WeightMetric{{"gate_norm_headwise", "gate-norm, headwise",
                  "The gate-norm of a layer without cancellation between its heads", "√(Σ_h ‖W_q⁽ʰ⁾ᵀ W_k⁽ᵍ⁽ʰ⁾⁾‖_F²)",
                  "", ownWeightMetric, Scope::layer, Needs::weights, PruneFirst::low, gateNormOptions},
                 headwiseGateNorm,
                 hasQueryAndKey},
    WeightMetric{{"gate_norm_head", "gate-norm per head", "How strongly a head's queries and keys are coupled",
                  "‖W_q⁽ʰ⁾ᵀ W_k⁽ᵍ⁽ʰ⁾⁾‖_F", "", ownWeightMetric, Scope::head, Needs::weights, PruneFirst::low, gateNormOptions},
                 gateNormOfHeads,
                 hasQueryAndKey},
    WeightMetric{{"gate_norm_group", "gate-norm per KV group",
                  "The gate-norm of a KV group, the queries of its heads summed", "‖(Σ_{h∈g} W_q⁽ʰ⁾)ᵀ W_k⁽ᵍ⁾‖_F", "",
                  ownWeightMetric, Scope::kvGroup, Needs::weights, PruneFirst::low, groupOptions},
                 gateNormOfGroups,
                 hasQueryAndKey},
    WeightMetric{{"mag_sp_head", "Mag-SP per head", "How large the weights are that a head writes with",
                  "Σ_{j∈h} ‖(W_o)_{:,j}‖₂", "", flapSource, Scope::head, Needs::weights, PruneFirst::low, noOptions},
                 magnitudeOfHeads,
                 hasOutputOfHeads},
    WeightMetric{{"mag_sp_neuron", "Mag-SP per neuron", "How large the weights are that an MLP's neuron writes with",
                  "‖(W_down)_{:,m}‖₂", "", flapSource, Scope::neuron, Needs::weights, PruneFirst::low, noOptions},
                 magnitudeOfNeurons,
                 hasNeurons},
};

} // namespace

std::span<const WeightMetric> weightMetrics() {
    return weightTable;
}

} // namespace secateur
