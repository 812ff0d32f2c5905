#pragma once

#include "analysis/metrics/metric.h"

#include <span>

namespace secateur {

/// The table rows of the metrics from one forward pass over a text.
std::span<const MetricInfo> forwardMetrics();

} // namespace secateur
