#pragma once

#include "analysis/metric.h"
#include "analysis/model.h"
#include "analysis/progress.h"

#include <functional>
#include <span>
#include <vector>

namespace secateur {

/// Hears of each finished layer of each request: one call at a time, from any thread, in about the order of the layers.
using LayerSink = std::function<void(std::size_t request, int layer, std::span<const double> values)>;

/// Computes all requests from as few passes as their needs allow: weight metrics share one walk over the layers.
/// Accumulates in float64. The fingerprint of the measurement is left empty.
/// @throws Error naming file and tensor; Cancelled
std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests, const Progress& progress,
                                  const LayerSink& layerDone = {});

} // namespace secateur
