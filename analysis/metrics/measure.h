#pragma once

#include "analysis/metrics/metric.h"
#include "analysis/model/model.h"
#include "analysis/base/progress.h"

#include <functional>
#include <span>
#include <vector>

namespace secateur {

/// What one layer gave one request.
struct LayerCells {
    std::size_t request = 0;
    int layer = 0;
    std::span<const double> values;
    std::span<const double> standardErrors; ///< one for each value where they are estimates; else empty
};

/// Hears of each layer of each request, one call at a time, from any thread: first of its estimate, if there is one to
/// be had early, then of its exact values.
using LayerSink = std::function<void(const LayerCells&)>;

/// Computes metrics of weights from one walk over the layers (measure_forward.h has those that need a text).
/// Accumulates in float64. The fingerprint of the measurement is left empty.
/// @throws Error naming file and tensor, or a metric that needs more than weights; Cancelled
std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests, const Progress& progress,
                                  const LayerSink& layerDone = {});

} // namespace secateur
