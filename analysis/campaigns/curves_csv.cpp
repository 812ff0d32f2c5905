#include "analysis/campaigns/curves_csv.h"

#include "analysis/base/text.h"
#include "analysis/strategies/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

namespace secateur {

namespace {

using MetricName = std::pair<std::string, std::string>; ///< task and metric

/// A cell in quotes if it needs them.
std::string quotedCell(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos)
        return text;
    std::string cell = "\"";
    for (const char c : text)
        cell += c == '"' ? std::string("\"\"") : std::string(1, c);
    return cell + "\"";
}

std::string numberCell(double value) {
    return std::isnan(value) ? "" : exactly(value);
}

std::vector<MetricName> metricNames(const Curves& curves) {
    std::set<MetricName> names;
    const auto addFrom = [&](const CurvePoint& point) {
        for (const PointMetric& metric : point.tasks)
            names.emplace(metric.task, metric.id);
    };
    addFrom(curves.dense);
    for (const Curve& curve : curves.curves)
        std::ranges::for_each(curve.points, addFrom);
    return {names.begin(), names.end()};
}

std::string rowOf(const std::vector<std::string>& cells) {
    std::vector<std::string> quoted;
    for (const std::string& cell : cells)
        quoted.push_back(quotedCell(cell));
    return join(quoted, ",") + "\r\n";
}

std::string pointRow(const std::string& strategy, const CurvePoint& point, const std::vector<MetricName>& metrics) {
    const PointKey& key = point.key;
    std::vector<std::string> cells{strategy,
                                   budgetText(key.budget),
                                   point.reached ? budgetText(*point.reached) : "",
                                   std::to_string(key.repetition),
                                   key.seed ? std::to_string(*key.seed) : "",
                                   key.compensation,
                                   key.recovered,
                                   point.mask};
    const RemovedUnits& removed = point.removed;
    for (const std::int64_t count :
         {std::int64_t{removed.heads}, std::int64_t{removed.kvHeads}, removed.neurons, std::int64_t{removed.attention},
          std::int64_t{removed.mlps}, std::int64_t{removed.blocks}, std::int64_t{removed.bypassed}, point.parameters})
        cells.push_back(point.isChosen() ? std::to_string(count) : "");
    for (const double amount : {point.kvBytesPerToken, point.operationsPerToken})
        cells.push_back(point.isChosen() ? exactly(amount) : "");
    for (const double value : {point.lossNats, point.deltaNats, point.deltaStandardError, point.perplexity,
                               point.pooledDistance, point.pooledStandardError, point.tokensPerSecond,
                               point.choosingSeconds, point.scoringSeconds, point.trainingSeconds})
        cells.push_back(numberCell(value));
    for (const auto& [task, id] : metrics) {
        const PointMetric* metric = point.metric(task, id);
        for (const double PointMetric::*value : {&PointMetric::value, &PointMetric::standardError, &PointMetric::delta,
                                                 &PointMetric::deltaStandardError})
            cells.push_back(metric ? numberCell(metric->*value) : "");
    }
    cells.push_back(point.error);
    return rowOf(cells);
}

} // namespace

std::string curvesCsv(const Curves& curves) {
    const std::vector<MetricName> metrics = metricNames(curves);
    std::vector<std::string> titles{"strategy",
                                    "budget",
                                    "reached",
                                    "repetition",
                                    "seed",
                                    "compensation",
                                    "recovered",
                                    "mask_digest",
                                    "removed_heads",
                                    "removed_kv_heads",
                                    "removed_neurons",
                                    "removed_attention",
                                    "removed_mlps",
                                    "removed_blocks",
                                    "bypassed_attention",
                                    "parameters",
                                    "kv_bytes_per_token",
                                    "operations_per_token",
                                    "loss_nats",
                                    "delta_nats",
                                    "delta_standard_error",
                                    "perplexity",
                                    "pooled_distance",
                                    "pooled_standard_error",
                                    "tokens_per_second",
                                    "choosing_seconds",
                                    "scoring_seconds",
                                    "training_seconds"};
    for (const auto& [task, id] : metrics)
        for (const char* suffix : {"", ".standard_error", ".delta", ".delta_standard_error"})
            titles.push_back(fmt::format("{}.{}{}", task, id, suffix));
    titles.emplace_back("error");
    std::string csv = rowOf(titles);
    csv += pointRow("dense", curves.dense, metrics);
    for (const Curve& curve : curves.curves)
        for (const CurvePoint& point : curve.points)
            csv += pointRow(curve.strategy, point, metrics);
    return csv;
}

} // namespace secateur
