#pragma once

#include "analysis/export/model_comparison.h"
#include "backends/engine/open_model.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace secateur::test {

/// The largest difference of logits that float32 may cause between two runs of a model under a mask, relative to the
/// largest logit: at least `least`, or three times the difference between this processor's kernels and plain loops.
/// Which sums are rounded alike in two runs depends on the processor, and some fixtures magnify the rounding.
inline double roundingLimit(const Model& model, const PruningMask& mask, double least) {
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
