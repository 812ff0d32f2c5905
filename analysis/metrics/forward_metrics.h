#pragma once

#include "analysis/metrics/metric.h"

#include <span>

namespace secateur {

/// What of a layer a forward metric is made of.
enum class Observes {
    stream,        ///< what enters and leaves, and what is added: token by token
    similarity,    ///< how alike the tokens of a sequence are that leave
    context,       ///< columns of what the output projection reads
    contributions, ///< what each head adds
    neurons,       ///< columns of what the down projection reads
    attention,     ///< numbers of each query's attention
};

/// One row of the table of metrics that need a text and a pass over it.
struct ForwardMetric {
    MetricInfo info;
    Observes observes;
};

std::span<const ForwardMetric> forwardMetrics();
/// Of a request whose metric needs a forward pass.
const ForwardMetric& forwardMetric(const MetricRequest& request);

/// @throws UsageError for options that have the right type and make no sense
void checkForwardOptions(const MetricRequest& request);

} // namespace secateur
