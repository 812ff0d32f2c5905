#include "analysis/running/pooled_map.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cstddef>
#include <span>

namespace secateur {

PooledMap::PooledMap(const MapWindow& window)
    : m_window(window)
    , m_values(static_cast<std::size_t>(window.rows()) * static_cast<std::size_t>(window.columns())) {}

void PooledMap::add(const at::Tensor& rows, std::int64_t firstQuery) {
    const std::int64_t begin = std::max<std::int64_t>(firstQuery, m_window.firstQuery);
    const std::int64_t end =
        std::min<std::int64_t>(firstQuery + rows.size(0), std::int64_t{m_window.firstQuery} + m_window.queries);
    const std::int64_t keys = std::min<std::int64_t>(m_window.keys, rows.size(1) - m_window.firstKey);
    if (begin >= end || keys <= 0)
        return;
    const std::int64_t padding = std::int64_t{m_window.columns()} * m_window.cells - keys;
    const at::Tensor seen = rows.narrow(0, begin - firstQuery, end - begin).narrow(1, m_window.firstKey, keys);
    const at::Tensor pooled = at::constant_pad_nd(seen, {0, padding}, 0)
                                  .reshape({end - begin, m_window.columns(), m_window.cells})
                                  .amax(-1)
                                  .to(at::kCPU)
                                  .contiguous();
    const auto columns = static_cast<std::size_t>(m_window.columns());
    const auto values = std::span(pooled.data_ptr<float>(), static_cast<std::size_t>(pooled.numel()));
    for (std::int64_t query = begin; query < end; ++query) {
        const auto from = values.subspan(static_cast<std::size_t>(query - begin) * columns, columns);
        float* cell = &m_values[static_cast<std::size_t>((query - m_window.firstQuery) / m_window.cells) * columns];
        for (std::size_t column = 0; column < columns; ++column)
            cell[column] = std::max(cell[column], from[column]);
    }
}

} // namespace secateur
