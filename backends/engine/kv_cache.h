#pragma once

#include "analysis/running/runner.h"
#include "backends/engine/layer_math.h"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace secateur {

/// The rotary tables of a model, extended on demand. Thread-safe. For sources only: pulls in ATen.
class RotaryCache {
public:
    /// A table of at least `positions` positions.
    RotaryTable table(const RotarySpec& spec, std::int64_t positions, const at::Device& device) const;

private:
    mutable std::mutex m_mutex;
    mutable std::vector<std::pair<RotarySpec, RotaryTable>> m_tables;
};

/// The engine's KV cache. For sources only: pulls in ATen.
class EngineCache : public KvCache {
public:
    /// @param only cache this layer only; none = all layers
    EngineCache(const Plan& plan, const ModelSpec& spec, int rows, int capacity, const at::Device& device,
                std::optional<int> only);

    int rows() const override { return m_rows; }
    int capacity() const override { return m_capacity; }
    std::int64_t bytes() const override;
    void begin(int row, const KvCache& from, int fromRow, int positions) override;

    LayerCache& layer(int index) { return m_layers.at(static_cast<std::size_t>(index)); }

private:
    int m_rows;
    int m_capacity;
    std::vector<LayerCache> m_layers; ///< undefined tensors for layers that need no cache
};

} // namespace secateur
