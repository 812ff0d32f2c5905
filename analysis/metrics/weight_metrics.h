#pragma once

#include "analysis/metrics/layer_weights.h"
#include "analysis/metrics/metric.h"

#include <optional>
#include <span>

namespace secateur {

struct Estimate;

/// One row of the table of metrics that need nothing but weights.
struct WeightMetric {
    MetricInfo info;
    /// Fills one value per cell of the layer.
    void (*compute)(LayerWeights& weights, const MetricRequest& request, std::span<double> cells);
    /// Whether a layer has the weights that compute() asks for; the cells of one that lacks them stay empty.
    bool (*applies)(const LayerSpec& layer);
    /// A first idea of the one cell of a layer, where exact values take long. nullptr, or nothing: they do not.
    std::optional<Estimate> (*estimate)(LayerWeights& weights, const MetricRequest& request) = nullptr;
};

std::span<const WeightMetric> weightMetrics();

} // namespace secateur
