#pragma once

#include "analysis/metrics/metric.h"
#include "analysis/model/model_spec.h"

#include <vector>

namespace secateur {

/// The request with which a metric is shown first for a model: with default options or, if the metric's row warns about
/// its values for this model, with the first option that needs no warning. Models that normalise queries and keys, for
/// example, have their gate-norms with qk_norm=true. With default options if there is no such option.
MetricRequest usualRequest(const MetricInfo& info, const ModelSpec& spec);

/// The requests that are measured when a model is opened: the usual one of each metric from weights, except metrics
/// whose row warns about all of their values for this model.
std::vector<MetricRequest> openingRequests(const ModelSpec& spec);

} // namespace secateur
