#pragma once

#include "analysis/masks/projection_weight.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/model/model.h"

#include <ATen/ATen.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace secateur::test {

/// A model of the full shape in which the weights of cut units are 0: the columns of W_o for cut heads and of W_down
/// for cut neurons, and all output weights and biases of dropped sublayers. The compensation of the mask is in its
/// weights too. The bias that it adds to a bypassed attention is divided by alpha, because a run of this model
/// multiplies it by alpha, unless a norm comes before that.
class ZeroedModel : public Model {
public:
    ZeroedModel(const Model& model, PruningMask mask)
        : m_model(model)
        , m_mask(std::move(mask)) {}

    const ModelCard& card() const override { return m_model.card(); }
    bool has(int layer, WeightName which) const override {
        return m_model.has(layer, which) || !added(layer, which).empty();
    }
    std::string place(int layer, WeightName which) const override { return m_model.place(layer, which); }
    std::string fingerprint() const override { return {}; }
    at::Tensor tensor(int layer, WeightName which) const override {
        if (!added(layer, which).empty())
            return biasOf(layer, which);
        if (layer < 0)
            return m_model.tensor(layer, which);
        const at::Tensor weight = projectionWeight(m_model, layer, which, compensationOf(m_mask.layer(layer)));
        const LayerMask& mask = m_mask.layer(layer);
        const bool noAttention = mask.attention == AttentionCut::drop;
        if ((which == WeightName::outputBias && noAttention) || (which == WeightName::downBias && !mask.mlp))
            return at::zeros_like(weight);
        const LayerCompensation& own = compensationOf(mask);
        if (which == WeightName::output)
            return changedColumns(weight, mask.heads, noAttention, own.headScale,
                                  spec().layers[static_cast<std::size_t>(layer)].headDim);
        if (which == WeightName::down)
            return changedColumns(weight, mask.neurons, !mask.mlp, own.neuronScale, 1);
        return weight;
    }

private:
    const std::vector<float>& added(int layer, WeightName which) const {
        static const std::vector<float> none;
        if (layer < 0)
            return none;
        const LayerCompensation& own = compensationOf(m_mask.layer(layer));
        return which == WeightName::outputBias ? own.attentionBias : which == WeightName::downBias ? own.mlpBias : none;
    }

    at::Tensor biasOf(int layer, WeightName which) const {
        const LayerMask& mask = m_mask.layer(layer);
        const bool isScaled = which == WeightName::outputBias && mask.attention == AttentionCut::bypassQk &&
                              spec().normPlace != NormPlace::sandwich;
        const at::Tensor own = at::tensor(at::ArrayRef<float>(added(layer, which))) / (isScaled ? mask.alpha : 1);
        return m_model.has(layer, which) ? m_model.tensor(layer, which).to(at::kFloat) + own : own;
    }

    static at::Tensor changedColumns(const at::Tensor& weight, const std::vector<bool>& kept, bool dropped,
                                     const std::vector<float>& factors, int width) {
        at::Tensor changed = factors.empty() ? weight.clone() : weight.to(at::kFloat, false, true);
        if (dropped)
            return changed.zero_();
        for (std::size_t i = 0; i < kept.size(); ++i) {
            const at::Tensor columns = changed.narrow(1, static_cast<std::int64_t>(i) * width, width);
            if (!kept[i])
                columns.zero_();
            else if (!factors.empty())
                columns.mul_(factors[i]);
        }
        return changed;
    }

    const Model& m_model;
    PruningMask m_mask;
};

/// Gives every layer of a mask a random compensation, which is about as large as the layer's own weights and updates.
/// @param share probability of each of the four vectors
/// @param replaced probability that a projection has another weight, and then no factors
inline PruningMask withDrawnCompensation(PruningMask mask, const ModelSpec& spec, unsigned seed = 1,
                                         double share = 0.75, double replaced = 0) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::bernoulli_distribution has(share);
    const auto draw = [&](std::size_t size, float mean, float deviation) {
        std::vector<float> values(has(random) ? size : 0);
        for (float& value : values)
            value = mean + deviation * normal(random);
        return values;
    };
    std::bernoulli_distribution isReplaced(replaced);
    const auto drawWeight = [&](std::size_t columns, std::vector<float>& factors) -> SharedWeight {
        if (columns == 0 || replaced == 0 || !isReplaced(random))
            return nullptr;
        factors.clear();
        auto weight = std::make_shared<std::vector<float>>(columns * static_cast<std::size_t>(spec.hidden));
        for (float& value : *weight)
            value = normal(random) / std::sqrt(static_cast<float>(columns));
        return weight;
    };
    for (int index = 0; index < spec.layerCount(); ++index) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
        const auto hidden = static_cast<std::size_t>(spec.hidden);
        const bool hasAttention = layer.attention != AttentionKind::none;
        const bool hasHeads = hasAttention && layer.attention != AttentionKind::linear;
        LayerMask own = mask.layer(index);
        LayerCompensation made;
        made.headScale = draw(hasHeads ? own.heads.size() : 0, 1.F, 0.4F);
        made.neuronScale = draw(own.neurons.size(), 1.F, 0.4F);
        made.attentionBias = draw(hasAttention ? hidden : 0, 0.F, 0.3F);
        made.mlpBias = draw(layer.ffn > 0 ? hidden : 0, 0.F, 0.3F);
        const std::size_t columns = hasHeads ? own.heads.size() * static_cast<std::size_t>(layer.headDim) : hidden;
        made.outputWeight = drawWeight(hasAttention ? columns : 0, made.headScale);
        made.downWeight = drawWeight(own.neurons.size(), made.neuronScale);
        own.compensation = std::make_shared<const LayerCompensation>(std::move(made));
        mask.setLayer(index, own);
    }
    return mask;
}

} // namespace secateur::test
