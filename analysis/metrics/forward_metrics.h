#pragma once

#include "analysis/metrics/metric.h"

#include <span>

namespace secateur {

/// The rows of metrics that need a text and one pass over it.
std::span<const MetricInfo> forwardMetrics();

} // namespace secateur
