#include "backends/engine/rotary_cache.h"

#include "backends/config/rope_divisors.h"

#include <ATen/ATen.h>

#include <algorithm>

namespace secateur {

namespace {

/// In float32 from the frequency on, as the models were trained and as others run them.
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

} // namespace secateur
