#include "analysis/evaluation/sublayer_times.h"

#include "analysis/masks/price.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace secateur {

namespace {

int positionsOf(const ModelSpec& spec, int positions) {
    return spec.context > 0 ? std::min(positions, spec.context) : positions;
}

/// Replaces the times of layers with the same shape by their mean, so that noise does not prefer any of them.
void averageEqualLayers(const ModelSpec& spec, std::vector<double>& seconds) {
    const auto count = spec.layers.size();
    std::vector<double> means(count);
    for (std::size_t i = 0; i < count; ++i) {
        double sum = 0;
        int equal = 0;
        for (std::size_t j = 0; j < count; ++j)
            if (spec.layers[i] == spec.layers[j]) {
                sum += seconds[j];
                ++equal;
            }
        means[i] = sum / equal;
    }
    seconds = means;
}

/// The share of a sublayer's operations that a mask keeps.
double keptShare(const ModelSpec& spec, int layer, const LayerMask& mask, bool isAttention, int positions) {
    const auto operations = [&](LayerParts parts) {
        if (isAttention)
            parts.mlp = false;
        else
            parts.attention = AttentionKind::none;
        return parts.block ? layerOperations(spec, layer, parts, positions) : 0;
    };
    const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
    const double all = operations(partsLeft(own, PruningMask(spec).layer(layer)));
    return all > 0 ? operations(partsLeft(own, mask)) / all : 0;
}

} // namespace

SublayerTimes::SublayerTimes(const Model& model, int positions, ComputeType type, const Progress& progress)
    : m_model(model)
    , m_positions(positionsOf(model.spec(), positions)) {
    const auto plan = model.runner().plan(PruningMask(model.spec()), type);
    const PrefillRules rules{.lengths = {m_positions}, .bySublayer = true};
    m_times = prefillTimes(model, {*plan}, rules, progress).front().run.bySublayer.value();
    averageEqualLayers(model.spec(), m_times.attention);
    averageEqualLayers(model.spec(), m_times.mlp);
}

double SublayerTimes::seconds(const PruningMask& mask) const {
    double sum = m_times.rest;
    for (int layer = 0; layer < mask.layerCount(); ++layer) {
        const auto at = static_cast<std::size_t>(layer);
        const auto share = [&](bool isAttention) {
            return keptShare(m_model.spec(), layer, mask.layer(layer), isAttention, m_positions);
        };
        sum += m_times.attention[at] * share(true) + m_times.mlp[at] * share(false);
    }
    return sum;
}

Prefill timedPass(const Model& model, const PruningMask& mask, const PruningMask& reference, int positions,
                  ComputeType type, const Progress& progress) {
    const auto before = model.runner().plan(reference, type);
    const auto after = model.runner().plan(mask, type);
    const PrefillRules rules{.lengths = {positionsOf(model.spec(), positions)}};
    return prefillTimes(model, {*after, before.get()}, rules, progress).front();
}

} // namespace secateur
