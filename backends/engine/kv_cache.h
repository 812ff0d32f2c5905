#pragma once

#include "analysis/runner.h"
#include "backends/engine/layer_math.h"

#include <vector>

namespace secateur {

/// For sources only: pulls in ATen.
class EngineCache : public KvCache {
public:
    EngineCache(const Plan& plan, const ModelSpec& spec, int rows, int capacity, const at::Device& device);

    int rows() const override { return m_rows; }
    int capacity() const override { return m_capacity; }
    std::int64_t bytes() const override;

    LayerCache& layer(int index) { return m_layers.at(static_cast<std::size_t>(index)); }

private:
    int m_rows;
    int m_capacity;
    std::vector<LayerCache> m_layers; ///< without tensors where attention keeps none
};

} // namespace secateur
