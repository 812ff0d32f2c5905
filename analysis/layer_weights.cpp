#include "analysis/layer_weights.h"

#include "analysis/query_key.h"

#include <ATen/ATen.h>

namespace secateur {

LayerWeights::LayerWeights(const Model& model, int layer)
    : m_model(model)
    , m_layer(layer) {}

LayerWeights::~LayerWeights() = default;

const LayerSpec& LayerWeights::spec() const {
    return m_model.spec().layers[static_cast<std::size_t>(m_layer)];
}

at::Tensor LayerWeights::stored(Which which) const {
    return m_model.tensor(m_layer, which);
}

const QueryKey& LayerWeights::queryKey(QueryKeyVariant variant) {
    std::unique_ptr<QueryKey>& slot = m_queryKey[variant];
    if (slot)
        return *slot;

    const LayerSpec& layer = spec();
    const auto read = [&](Which which) { return m_model.tensor(m_layer, which).to(at::kDouble); };
    at::Tensor query = read(Which::query); // [heads * headDim, hidden]
    at::Tensor key = read(Which::key);     // [kvHeads * headDim, hidden]
    if (variant.foldNorm) {
        const at::Tensor gain = read(Which::attentionNorm) + m_model.spec().normWeightOffset;
        query = query * gain;
        key = key * gain;
    }
    if (variant.augmented) {
        // Without rotary positions whatever a key's bias adds is the same for all keys, and softmax drops it.
        const bool keyBias = layer.keyBias && layer.rotary.dims > 0;
        const auto column = [&](bool present, Which which, const at::Tensor& weight) {
            return present ? read(which).unsqueeze(1) : at::zeros({weight.size(0), 1}, weight.options());
        };
        query = at::cat({query, column(layer.queryBias, Which::queryBias, query)}, 1);
        key = at::cat({key, column(keyBias, Which::keyBias, key)}, 1);
    }
    const at::Tensor heads = query.reshape({layer.heads, layer.headDim, -1});
    const at::Tensor groups = heads.reshape({layer.kvHeads, layer.heads / layer.kvHeads, layer.headDim, -1}).sum(1);
    slot = std::make_unique<QueryKey>(QueryKey{heads, groups, key.reshape({layer.kvHeads, layer.headDim, -1})});
    return *slot;
}

} // namespace secateur
