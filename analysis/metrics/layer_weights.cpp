#include "analysis/metrics/layer_weights.h"

#include "analysis/metrics/query_key.h"
#include "analysis/metrics/wide_query_key.h"

#include <ATen/ATen.h>

#include <fmt/core.h>

#include <cmath>

namespace secateur {

namespace {

/// Each head's matrix as a norm behind it sees it: its scale is gone, and its rows are weighted. [heads, headDim,
/// columns]
at::Tensor normedHeads(const at::Tensor& heads, const at::Tensor& gain) {
    const at::Tensor sizes = heads.flatten(1).norm(2, 1, true).unsqueeze(2); // [heads, 1, 1]
    return heads * gain.unsqueeze(1) * (std::sqrt(static_cast<double>(heads.size(1))) / sizes);
}

} // namespace

bool isWide(const ModelSpec& spec) {
    constexpr int leastWidth = 2048; // narrower ones are done in float64 in no time
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

/// The weight of the norm whose output the layer reads, [hidden].
at::Tensor LayerWeights::inputGain() {
    const ModelSpec& spec = m_model.spec();
    if (spec.normPlace != NormPlace::after)
        return read(WeightName::attentionNorm) + spec.normWeightOffset;
    // The norm behind the layer before. Shared weights are applied many times, of which only the first may read the
    // embeddings: the last one speaks for all.
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
        // Without rotary positions whatever a key's bias adds is the same for all keys, and softmax drops it.
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

} // namespace secateur
