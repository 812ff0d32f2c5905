#include "analysis/running/stream_cache.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

namespace {

int intervalFor(int layers, std::int64_t streamBytes, std::int64_t budget) {
    for (int interval = 1; interval < layers; ++interval)
        if (std::int64_t{2} * ((layers - 1) / interval) <= budget / std::max<std::int64_t>(1, streamBytes))
            return interval;
    return layers;
}

} // namespace

int commonLayers(const PruningMask& one, const PruningMask& other) {
    int layer = 0;
    while (layer < one.layerCount() && one.layer(layer) == other.layer(layer))
        ++layer;
    return layer;
}

StreamCache::StreamCache(Mask dense, std::size_t batches, std::int64_t streamBytes, std::int64_t budget)
    : m_layers(dense->layerCount())
    , m_interval(intervalFor(m_layers, streamBytes, budget))
    , m_denseMask(dense)
    , m_dense(batches, Kept{dense, {}})
    , m_last(batches, Kept{dense, {}}) {}

std::int64_t StreamCache::bytes() const {
    std::size_t sum = 0;
    for (std::size_t batch = 0; batch < m_dense.size(); ++batch) {
        const std::vector<at::Tensor>& dense = m_dense[batch].streams;
        const std::vector<at::Tensor>& last = m_last[batch].streams;
        for (const at::Tensor& stream : dense)
            sum += stream.nbytes();
        for (std::size_t i = 0; i < last.size(); ++i)
            sum += i < dense.size() && last[i].is_same(dense[i]) ? 0 : last[i].nbytes();
    }
    return static_cast<std::int64_t>(sum);
}

int StreamCache::resumeLayer(const Kept& kept, const PruningMask& mask) const {
    if (kept.streams.empty())
        return 0;
    const int deepest = static_cast<int>(kept.streams.size()) * m_interval;
    return std::min(deepest, commonLayers(*kept.mask, mask) / m_interval * m_interval);
}

int StreamCache::resumeLayer(std::size_t batch, const PruningMask& mask, bool onceDenseRan) const {
    const int deepest = std::max(resumeLayer(m_dense[batch], mask), resumeLayer(m_last[batch], mask));
    if (!onceDenseRan)
        return deepest;
    const int common = std::min(commonLayers(*m_denseMask, mask), m_layers - 1);
    return std::max(deepest, common / m_interval * m_interval);
}

const at::Tensor& StreamCache::stream(std::size_t batch, const PruningMask& mask, int layer) const {
    const Kept& holder = resumeLayer(m_dense[batch], mask) >= layer ? m_dense[batch] : m_last[batch];
    return holder.streams.at(static_cast<std::size_t>(layer / m_interval) - 1);
}

void StreamCache::begin(std::size_t batch, Of of, const Mask& mask, int firstLayer) {
    Kept next{mask, {}};
    for (int layer = m_interval; layer <= firstLayer; layer += m_interval)
        next.streams.push_back(stream(batch, *mask, layer));
    kept(batch, of) = std::move(next);
}

void StreamCache::keep(std::size_t batch, Of of, int layer, const at::Tensor& x) {
    if (layer % m_interval == 0 && layer < m_layers)
        kept(batch, of).streams.push_back(x);
}

} // namespace secateur
