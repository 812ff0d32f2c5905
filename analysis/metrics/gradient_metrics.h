#pragma once

#include "analysis/metrics/metric.h"

#include <span>

namespace secateur {

/// What a gradient metric is made of.
enum class FromGradients {
    norms,       ///< of the gradients of a head's projections, for each sequence
    magnitudes,  ///< of the gradients of heads' gates
    gates,       ///< those gradients with their sign
    squares,     ///< of those gradients, token by token
    attribution, ///< of attention probabilities, on the way from none to all of them
};

/// One row of the table of metrics that need a text and gradients of what a model makes of it.
struct GradientMetric {
    MetricInfo info;
    FromGradients from;
};

std::span<const GradientMetric> gradientMetrics();
/// Of a request whose metric needs gradients.
const GradientMetric& gradientMetric(const MetricRequest& request);

/// @throws UsageError for options that have the right type and make no sense
void checkGradientOptions(const MetricRequest& request);
/// Of an option that is a whole number.
int wholeOption(const MetricRequest& request, std::string_view name);

} // namespace secateur
