#include "analysis/metrics/weight_metrics.h"

#include "analysis/metrics/wide_query_key.h"

#include <ATen/ATen.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

/// Query and key projections of a layer in float64.
struct QueryKey {
    at::Tensor query;      // [heads, headDim, columns]
    at::Tensor groupQuery; // [kvHeads, headDim, columns], summed over the heads of each group
    at::Tensor key;        // [kvHeads, headDim, columns]
};

namespace {

/// Applies the norm of queries or keys to the heads' matrices: divides each by its root mean square row norm, and
/// multiplies its rows by the norm's weight. [heads, headDim, columns]
at::Tensor normedHeads(const at::Tensor& heads, const at::Tensor& gain) {
    const at::Tensor sizes = heads.flatten(1).norm(2, 1, true).unsqueeze(2); // [heads, 1, 1]
    return heads * gain.unsqueeze(1) * (std::sqrt(static_cast<double>(heads.size(1))) / sizes);
}

} // namespace

bool isWide(const ModelSpec& spec) {
    constexpr int leastWidth = 2048; // float64 is fast enough for narrower layers
    return spec.hidden >= leastWidth;
}

LayerWeights::LayerWeights(const Model& model, int layer, const Progress& progress)
    : m_model(model)
    , m_layer(layer)
    , m_progress(progress) {}

LayerWeights::~LayerWeights() {
    if (!isWide(m_model.spec()))
        return;
    m_queryKey.clear();
    m_wideQueryKey.clear();
    for (const auto& [layer, which] : m_read)
        m_model.release(layer, which);
}

const LayerSpec& LayerWeights::spec() const {
    return m_model.spec().layers[static_cast<std::size_t>(m_layer)];
}

at::Tensor LayerWeights::read(int layer, WeightName which) {
    m_read.emplace(layer, which);
    return m_model.tensor(layer, which).to(at::kDouble);
}

at::Tensor LayerWeights::read(WeightName which) {
    return read(m_layer, which);
}

std::vector<std::string> LayerWeights::notFinite() const {
    std::vector<std::string> sentences;
    for (const auto& [layer, which] : m_read) {
        const at::Tensor values = m_model.tensor(layer, which);
        const auto nan = values.isnan().sum().item<std::int64_t>();
        const auto infinite = values.isinf().sum().item<std::int64_t>();
        if (nan + infinite > 0)
            sentences.push_back(
                fmt::format("{} holds {} NaN and {} infinite numbers", m_model.place(layer, which), nan, infinite));
    }
    return sentences;
}

at::Tensor LayerWeights::inputGain() {
    const ModelSpec& spec = m_model.spec();
    if (spec.normPlace != NormPlace::after)
        return read(WeightName::attentionNorm) + spec.normWeightOffset;
    // Post-norm: the norm at the end of the previous layer. Of layers that share weights only the first may follow the
    // embedding, and the others follow a layer; so the last of them is used.
    int last = m_layer;
    for (int layer = m_layer; layer < spec.layerCount(); ++layer)
        if (spec.storedLayer(layer) == spec.storedLayer(m_layer))
            last = layer;
    return last > 0 ? read(last - 1, WeightName::mlpPostNorm) : read(-1, WeightName::embeddingNorm);
}

at::Tensor LayerWeights::stored(WeightName which) {
    m_read.emplace(m_layer, which);
    return m_model.tensor(m_layer, which);
}

bool LayerWeights::hasWideQueryKey(QueryKeyVariant variant) const {
    return isWide(m_model.spec()) && !variant.augmented && !variant.normedHeads;
}

WideSource LayerWeights::wideSource(QueryKeyVariant variant) {
    const LayerSpec& layer = spec();
    const at::Tensor gain = variant.foldNorm ? inputGain().to(at::kFloat) : at::Tensor();
    return {stored(WeightName::query), stored(WeightName::key), gain, layer.heads, layer.kvHeads, layer.headDim};
}

WideQueryKey& LayerWeights::wideQueryKey(QueryKeyVariant variant) {
    std::unique_ptr<WideQueryKey>& slot = m_wideQueryKey[variant];
    if (!slot)
        slot = std::make_unique<WideQueryKey>(kernels(), wideSource(variant));
    return *slot;
}

const QueryKey& LayerWeights::queryKey(QueryKeyVariant variant) {
    std::unique_ptr<QueryKey>& slot = m_queryKey[variant];
    if (slot)
        return *slot;

    const LayerSpec& layer = spec();
    at::Tensor query = read(WeightName::query); // [heads * headDim, hidden]
    at::Tensor key = read(WeightName::key);     // [kvHeads * headDim, hidden]
    if (variant.foldNorm) {
        const at::Tensor gain = inputGain();
        query = query * gain;
        key = key * gain;
    }
    if (variant.augmented) {
        // Without rotary positions the key bias adds the same to all scores of a query, and softmax removes it.
        const bool keyBias = layer.keyBias && layer.rotary.dims > 0;
        const auto column = [&](bool present, WeightName which, const at::Tensor& weight) {
            return present ? read(which).unsqueeze(1) : at::zeros({weight.size(0), 1}, weight.options());
        };
        query = at::cat({query, column(layer.queryBias, WeightName::queryBias, query)}, 1);
        key = at::cat({key, column(keyBias, WeightName::keyBias, key)}, 1);
    }
    at::Tensor heads = query.reshape({layer.heads, layer.headDim, -1});
    at::Tensor keys = key.reshape({layer.kvHeads, layer.headDim, -1});
    if (variant.normedHeads) {
        const double offset = m_model.spec().normWeightOffset;
        heads = normedHeads(heads, read(WeightName::queryNorm) + offset);
        keys = normedHeads(keys, read(WeightName::keyNorm) + offset);
    }
    const at::Tensor groups = heads.reshape({layer.kvHeads, layer.heads / layer.kvHeads, layer.headDim, -1}).sum(1);
    slot = std::make_unique<QueryKey>(QueryKey{heads, groups, keys});
    return *slot;
}

namespace {

// --- gate-norm: || sum_h Wq_h^T Wk_g(h) ||_F (resources/manual/metrics.md, Gate-norm) --------------------------------

constexpr std::array groupOptions{
    OptionInfo{"augmented", "bool", "false", "append the query and key biases to the weights as one more column"},
    OptionInfo{"fold_norm", "bool", "false", "multiply the columns of W_q and W_k by the input norm's weight"},
    OptionInfo{"rope_averaged", "bool", "false",
               "root mean square over all rotary phases instead of relative position 0"},
};

constexpr std::array gateNormOptions{
    groupOptions[0],
    groupOptions[1],
    OptionInfo{
        "qk_norm", "bool", "false",
        "for models that normalise queries and keys: divide out the scale of W_q and W_k and fold in the weights "
        "of their norms"},
    groupOptions[2],
};

double frobenius(const at::Tensor& a, const at::Tensor& b) {
    return (a * b).sum().item<double>();
}

/// Gram matrices of the rows of each head. [heads, rows, columns] -> [heads, rows, rows]
at::Tensor grams(const at::Tensor& heads) {
    return heads.bmm(heads.transpose(1, 2));
}

/// The rows of heads: the first and the second of each pair that rotary positions rotate, and the rows that they do not
/// rotate.
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

/// Mean of squaredHeadNorms() over independent uniform rotary phases. Of rotated rows only the norms matter.
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
    // With many key rows, the product itself is cheaper than Gram matrices, and float32 is exact enough for it. The
    // squares of its elements are summed in float64.
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

/// Mean of squaredLayerNorm() over rotary phases. All heads have the same phases, so cross terms between groups remain.
double meanSquaredLayerNorm(const at::Tensor& groupQuery, const at::Tensor& key, int rotaryDims) {
    const auto byPair = [](const at::Tensor& rows) { return rows.transpose(0, 1).contiguous(); };
    const RotaryRows q = rotaryRows(groupQuery, rotaryDims);
    const RotaryRows k = rotaryRows(key, rotaryDims);
    const at::Tensor q1 = byPair(q.first); // [pairs, kvHeads, columns]
    const at::Tensor q2 = byPair(q.second);
    const at::Tensor k1 = byPair(k.first);
    const at::Tensor k2 = byPair(k.second);
    const at::Tensor crossed = q1.bmm(q2.transpose(1, 2));
    const double pairs = frobenius(grams(q1) + grams(q2), grams(k1) + grams(k2)) / 2 +
                         frobenius(crossed - crossed.transpose(1, 2), k1.bmm(k2.transpose(1, 2)));
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

/// Whether WideQueryKey can compute the request's values for this layer.
bool isOfWideLayer(const LayerWeights& weights, const MetricRequest& request) {
    return weights.hasWideQueryKey(variant(request)) && !takesScaleOut(weights, request) &&
           !averagesPhases(weights, request);
}

/// Square root of a sum of signed terms, which rounding may have left slightly below 0.
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
    const at::Tensor keys = qk.key.repeat_interleave(layer.heads / layer.kvHeads, 0); // copies, one for each query head
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
    // Heads that are normalised separately cannot cancel each other, because they have no common scale.
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

// --- Mag-SP: column norms of the output and down projections (resources/manual/metrics.md, Mag-SP) -------------------

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

// --- the weights that a layer must have ------------------------------------------------------------------------------

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

/// Warnings about options without effect; and for models that normalise queries and keys, where the scale of W_q and
/// W_k has no effect, that the plain value means little.
std::vector<std::string> gateNormNotes(const ModelSpec& spec, const MetricRequest& request) {
    const auto any = [&](auto has) { return std::ranges::any_of(spec.layers, has); };
    std::vector<std::string> notes;
    if (request.flag("augmented") && !any([](const LayerSpec& l) { return l.queryBias || l.keyBias; }))
        notes.emplace_back("augmented=true changes nothing here: this model's queries and keys have no bias");
    if (request.flag("rope_averaged") && !any([](const LayerSpec& l) { return l.rotary.dims > 0; }))
        notes.emplace_back("rope_averaged=true changes nothing here: this model has no rotary positions");
    const bool normsHeads = any([](const LayerSpec& l) { return l.normsHeads; });
    if (request.flag("qk_norm") && !normsHeads)
        notes.emplace_back("qk_norm=true changes nothing here: this model does not normalise queries and keys");
    if (normsHeads && !request.flag("qk_norm"))
        notes.emplace_back(
            "this model normalises queries and keys, so it does not depend on the scale of their weights, "
            "which this value measures: see the option qk_norm of gate_norm");
    return notes;
}

constexpr std::string_view gateNormPaper = "Gate-Norm: data-free attention pruning";
constexpr std::span<const OptionInfo> noOptions;
constexpr std::string_view flapSource = "FLAP's repository, Mag-SP";
constexpr std::string_view ownWeightMetric = "Secateur's generalisation of Gate-Norm";

MetricInfo weightRow(std::string_view id, std::string_view title, std::string_view summary, std::string_view formula,
                     std::string_view source, Scope scope, CutUnit ranks, std::span<const OptionInfo> options,
                     WeightMetric metric) {
    return {id,    title,   summary, formula, "", source, scope, Needs::weights, PruneFirst::low,
            ranks, options, nullptr, metric};
}

const std::array weightTable{
    weightRow("gate_norm", "gate-norm",
              "Frobenius norm of the bilinear form of queries and keys, summed over the layer's heads; small means "
              "near-uniform attention",
              "‖Σ_h W_q⁽ʰ⁾ᵀ W_k⁽ᵍ⁽ʰ⁾⁾‖_F", gateNormPaper, Scope::layer, CutUnit::attention, gateNormOptions,
              {gateNorm, hasQueryAndKey, estimatedGateNorm, gateNormNotes}),
    weightRow("gate_norm_headwise", "gate-norm, headwise",
              "Gate-norm of a layer without cancellation between its heads", "√(Σ_h ‖W_q⁽ʰ⁾ᵀ W_k⁽ᵍ⁽ʰ⁾⁾‖_F²)",
              ownWeightMetric, Scope::layer, CutUnit::attention, gateNormOptions,
              {headwiseGateNorm, hasQueryAndKey, nullptr, gateNormNotes}),
    weightRow("gate_norm_head", "gate-norm per head",
              "Frobenius norm of the bilinear form of a head's queries and keys", "‖W_q⁽ʰ⁾ᵀ W_k⁽ᵍ⁽ʰ⁾⁾‖_F",
              ownWeightMetric, Scope::head, CutUnit::head, gateNormOptions,
              {gateNormOfHeads, hasQueryAndKey, nullptr, gateNormNotes}),
    weightRow("gate_norm_group", "gate-norm per KV group",
              "Gate-norm of a KV group, with the query weights of its heads summed", "‖(Σ_{h∈g} W_q⁽ʰ⁾)ᵀ W_k⁽ᵍ⁾‖_F",
              ownWeightMetric, Scope::kvGroup, CutUnit::kvGroup, groupOptions,
              {gateNormOfGroups, hasQueryAndKey, nullptr, gateNormNotes}),
    weightRow("mag_sp_head", "Mag-SP per head", "Sum of the column norms of a head's output projection",
              "Σ_{j∈h} ‖(W_o)_{:,j}‖₂", flapSource, Scope::head, CutUnit::head, noOptions,
              {magnitudeOfHeads, hasOutputOfHeads}),
    weightRow("mag_sp_neuron", "Mag-SP per neuron", "Norm of a neuron's column of the down projection",
              "‖(W_down)_{:,m}‖₂", flapSource, Scope::neuron, CutUnit::neuron, noOptions,
              {magnitudeOfNeurons, hasNeurons}),
};

} // namespace

std::span<const MetricInfo> weightMetrics() {
    return weightTable;
}

} // namespace secateur
