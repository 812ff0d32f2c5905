#include "backends/engine/kv_cache.h"

#include "analysis/base/error.h"
#include "backends/config/rope_divisors.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>

namespace secateur {

namespace {

/// Frequencies and angles are float32, as in training and in transformers.
RotaryTable makeTable(const RotarySpec& spec, std::int64_t positions, const at::Device& device) {
    std::vector<float> frequencies;
    for (int pair = 0; pair < spec.dims / 2; ++pair)
        frequencies.push_back(static_cast<float>(inverseFrequency(spec, pair)));
    const at::Tensor angles = at::arange(positions, at::kFloat).unsqueeze(1) * at::tensor(frequencies).unsqueeze(0);
    return {angles.cos().to(device).contiguous(), angles.sin().to(device).contiguous()};
}

} // namespace

RotaryTable RotaryCache::table(const RotarySpec& spec, std::int64_t positions, const at::Device& device) const {
    if (spec.dims == 0)
        return {};
    const std::lock_guard lock(m_mutex);
    auto found = std::ranges::find(m_tables, spec, [](const auto& entry) { return entry.first; });
    if (found == m_tables.end())
        found = m_tables.insert(found, {spec, {}});
    RotaryTable& table = found->second;
    if (!table.cosines.defined() || table.cosines.size(0) < positions)
        table = makeTable(spec, std::max<std::int64_t>(positions, 512), device);
    return table;
}

namespace {

/// Number of KV heads that a kept head reads.
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

EngineCache::EngineCache(const Plan& plan, const ModelSpec& spec, int rows, int capacity, const at::Device& device,
                         std::optional<int> only)
    : m_rows(rows)
    , m_capacity(capacity)
    , m_layers(spec.layers.size()) {
    for (int index = 0; index < spec.layerCount(); ++index) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(index)];
        const LayerMask& mask = plan.mask().layer(index);
        if (!hasScores(layer, mask) || only.value_or(index) != index)
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

void EngineCache::begin(int row, const KvCache& from, int fromRow, int positions) {
    const auto& other = dynamic_cast<const EngineCache&>(from);
    const auto fits = [&](const EngineCache& cache, int at) {
        return at >= 0 && at < cache.m_rows && positions >= 0 && positions <= cache.m_capacity;
    };
    if (!fits(*this, row) || !fits(other, fromRow))
        throw Error(fmt::format(
            "Cannot copy {} positions of row {} of a cache of {} rows and {} positions to row {} of a cache "
            "of {} rows and {} positions",
            positions, fromRow, other.m_rows, other.m_capacity, row, m_rows, m_capacity));
    const auto kvHeads = [](const at::Tensor& kept) { return kept.defined() ? kept.size(1) : 0; };
    for (std::size_t index = 0; index < m_layers.size(); ++index) {
        const LayerCache& kept = m_layers[index];
        const LayerCache& source = other.m_layers.at(index);
        if (kvHeads(kept.keys) != kvHeads(source.keys))
            throw Error(fmt::format("The caches were made for different masks or layers: layer {} differs", index));
        if (!kept.keys.defined())
            continue;
        const auto beginning = [&](const at::Tensor& all, int at) { return all.select(0, at).narrow(1, 0, positions); };
        beginning(kept.keys, row).copy_(beginning(source.keys, fromRow));
        beginning(kept.values, row).copy_(beginning(source.values, fromRow));
    }
}

} // namespace secateur
