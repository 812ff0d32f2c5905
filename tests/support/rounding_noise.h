#pragma once

#include "analysis/export/model_comparison.h"
#include "backends/engine/open_model.h"
#include "tests/support/processor.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace secateur::test {

/// The largest difference of logits that is allowed between two runs of a model under a mask, relative to the largest
/// logit: `least`. On processors that round sums differently from those for which `least` was chosen, also three times
/// the difference between their kernels and plain loops, because some fixtures magnify the rounding.
inline double roundingLimit(const Model& model, const PruningMask& mask, double least) {
    if (roundsAsExpected())
        return least;
    const auto plain = openModel(model.card().path, {}, {.plain = true});
    const Batch batch = probeTokens(model.spec());
    std::vector<int> layers(static_cast<std::size_t>(model.spec().layerCount()));
    std::iota(layers.begin(), layers.end(), 0);
    const auto own = model.runner().plan(mask, ComputeType::float32);
    const RecordedRun first = recordRun(model, *own, batch, {});
    const auto other = plain->runner().plan(mask, ComputeType::float32);
    const double noise = compareLogits(first, *plain, *other, layers, batch, {}).relative();
    constexpr double several = 3;
    return std::max(least, several * noise);
}

} // namespace secateur::test
