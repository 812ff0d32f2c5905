#pragma once

#include "analysis/layer_weights.h"
#include "analysis/metric.h"

#include <span>

namespace secateur {

/// One row of the table of metrics that need nothing but weights.
struct WeightMetric {
    MetricInfo info;
    /// Fills one value per cell of the layer. Not called for layers that lack query and key weights.
    void (*compute)(LayerWeights& weights, const MetricRequest& request, std::span<double> cells);
};

std::span<const WeightMetric> weightMetrics();

} // namespace secateur
