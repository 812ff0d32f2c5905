#pragma once

#include "analysis/running/attention_reader.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace secateur {

/// Reduces attention probabilities that arrive in blocks of queries to the cells of a window. For sources only:
/// includes ATen.
class PooledMap {
public:
    explicit PooledMap(const MapWindow& window);

    const MapWindow& window() const { return m_window; }
    /// @param rows probabilities of consecutive queries, [queries, keys]; keys behind the last one count as 0
    void add(const at::Tensor& rows, std::int64_t firstQuery);
    /// The cells, [rows(), columns()].
    std::vector<float> take() { return std::move(m_values); }

private:
    MapWindow m_window;
    std::vector<float> m_values;
};

} // namespace secateur
