#include "backends/engine/kv_cache.h"

#include <ATen/ATen.h>

namespace secateur {

namespace {

/// KV heads that some kept head still reads.
int keptKvHeads(const LayerSpec& spec, const LayerMask& mask) {
    int kept = 0;
    int last = -1;
    for (int head = 0; head < spec.heads; ++head) {
        if (mask.heads[static_cast<std::size_t>(head)] && spec.kvGroup(head) != last) {
            last = spec.kvGroup(head);
            ++kept;
        }
    }
    return kept;
}

bool hasScores(const LayerSpec& spec, const LayerMask& mask) {
    return mask.block && mask.attention == AttentionCut::keep && spec.attention == AttentionKind::full;
}

} // namespace

EngineCache::EngineCache(const Plan& plan, const ModelSpec& spec, int rows, int capacity, const at::Device& device)
    : m_rows(rows)
    , m_capacity(capacity)
    , m_layers(spec.layers.size()) {
    for (int index = 0; index < spec.layerCount(); ++index) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
        const LayerMask& mask = plan.mask().layer(index);
        if (!hasScores(layer, mask))
            continue;
        const auto options = at::TensorOptions(device).dtype(at::kFloat);
        LayerCache& made = m_layers[static_cast<std::size_t>(index)];
        made.keys = at::zeros({rows, keptKvHeads(layer, mask), capacity, layer.headDim}, options);
        made.values = at::zeros_like(made.keys);
    }
}

std::int64_t EngineCache::bytes() const {
    std::int64_t bytes = 0;
    for (const LayerCache& layer : m_layers)
        if (layer.keys.defined())
            bytes += 2 * layer.keys.numel() * layer.keys.element_size();
    return bytes;
}

} // namespace secateur
