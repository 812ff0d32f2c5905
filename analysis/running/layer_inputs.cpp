#include "analysis/running/layer_inputs.h"

#include "analysis/running/stream_cache.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace secateur {

LayerInputs::LayerInputs(const Runner& runner, const Plan& plan, PaddedBatches batches)
    : m_runner(runner)
    , m_plan(&plan)
    , m_batches(std::move(batches)) {}

void LayerInputs::setPlan(const Plan& plan) {
    const int common = commonLayers(m_plan->mask(), plan.mask());
    std::erase_if(m_kept, [&](const auto& kept) { return kept.first > common; });
    if (m_layer > common)
        m_layer = -1;
    m_plan = &plan;
}

void LayerInputs::keep(int firstLayer, int lastLayer, std::int64_t bytes, std::int64_t streamBytes) {
    const auto affordable = bytes / std::max<std::int64_t>(1, streamBytes);
    const int layers = lastLayer - firstLayer + 1;
    m_firstKept = firstLayer;
    m_lastKept = affordable > 0 ? lastLayer : firstLayer - 1;
    m_keptInterval = 1;
    while ((layers + m_keptInterval - 1) / m_keptInterval > affordable && m_keptInterval < layers)
        ++m_keptInterval;
    std::erase_if(m_kept, [&](const auto& kept) { return !isKept(kept.first); });
}

bool LayerInputs::isKept(int layer) const {
    return layer >= m_firstKept && layer <= m_lastKept && (layer - m_firstKept) % m_keptInterval == 0;
}

/// Makes m_streams the inputs of the highest layer up to `layer` whose inputs are known.
void LayerInputs::resumeBelow(int layer) {
    const auto after = m_kept.upper_bound(layer);
    const int kept = after == m_kept.begin() ? -1 : std::prev(after)->first;
    if (m_layer >= 0 && m_layer <= layer && m_layer >= kept)
        return;
    m_layer = -1;
    m_streams.clear();
    if (kept >= 0)
        m_streams = std::prev(after)->second;
    else
        for (const Batch& batch : m_batches.batches)
            m_streams.push_back(m_runner.embed(*m_plan, batch));
    m_layer = std::max(kept, 0);
}

void LayerInputs::goTo(int layer, const Progress& progress) {
    resumeBelow(layer);
    for (;;) {
        if (isKept(m_layer))
            m_kept.try_emplace(m_layer, m_streams);
        if (m_layer == layer)
            return;
        const int current = std::exchange(m_layer, -1); // until all batches have passed the layer: it may be cancelled
        for (std::size_t batch = 0; batch < m_streams.size(); ++batch) {
            progress.report(0, fmt::format("layer {}", current));
            m_streams[batch] = m_runner.runLayer(*m_plan, current, m_streams[batch], m_batches.batches[batch]);
        }
        m_layer = current + 1;
    }
}

} // namespace secateur
