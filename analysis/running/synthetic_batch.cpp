#include "analysis/running/synthetic_batch.h"

#include <cstdint>

namespace secateur {

Batch syntheticBatch(const ModelSpec& spec, int positions) {
    Batch batch{1, positions, {}, {}, {}, {}};
    constexpr std::int64_t stride = 7919;
    for (std::int64_t i = 1; i <= positions; ++i)
        batch.ids.push_back(static_cast<int>(i * stride % spec.vocab));
    return batch;
}

} // namespace secateur
