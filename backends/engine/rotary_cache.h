#pragma once

#include "backends/engine/layer_math.h"

#include <mutex>
#include <utility>
#include <vector>

namespace secateur {

/// The rotary tables of a model, as long as was needed so far. Thread-safe. For sources only: pulls in ATen.
class RotaryCache {
public:
    /// At least `positions` long.
    RotaryTable table(const RotarySpec& spec, std::int64_t positions, const at::Device& device) const;

private:
    mutable std::mutex m_mutex;
    mutable std::vector<std::pair<RotarySpec, RotaryTable>> m_tables;
};

} // namespace secateur
