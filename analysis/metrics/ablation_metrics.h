#pragma once

#include "analysis/metrics/metric.h"

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// What is taken away alone.
enum class AblatedPart { head, attention, mlp, block };

/// One row of the table of metrics that say what a model loses without one of its parts.
struct AblationMetric {
    MetricInfo info;
    AblatedPart part;
};

std::span<const AblationMetric> ablationMetrics();
/// Of a request whose metric is one of them.
AblatedPart ablatedPart(const MetricRequest& request);

/// Whether what is lost is right answers of a task (option of=accuracy) instead of loss in nats.
bool isOfAccuracy(const MetricRequest& request);
/// Whether only those values are exact that decide which parts are the lowest (option screen).
bool isScreened(const MetricRequest& request);
/// Of the cost of ablating all parts, how much may be spent on exact values: 1, or what the option exact says.
double exactShare(const MetricRequest& request);
/// How a metric with these options is described: itself, or where an ablation metric is of accuracy, the row that has
/// its title and unit.
const MetricInfo* describedBy(const MetricInfo* info, const std::map<std::string, std::string>& options);

/// @throws UsageError for options that have the right type and make no sense
void checkAblationOptions(const MetricRequest& request);

} // namespace secateur
