#include "analysis/gallery/report_choices.h"

#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/metrics/metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

namespace secateur {

namespace {

/// The latest results of these scopes, each result id once, in the order of measuring.
std::vector<const MetricResult*> latestOf(const Session& session, const std::function<bool(Scope)>& isWanted) {
    std::vector<const MetricResult*> found;
    for (const MetricResult& result : session.results) {
        if (!isWanted(result.request.info->scope))
            continue;
        const MetricResult* latest = session.latest(result.request.resultId());
        if (std::ranges::find(found, latest) == found.end())
            found.push_back(latest);
    }
    return found;
}

std::vector<std::string> metricOptions(const Session& session, const std::function<bool(Scope)>& isWanted) {
    std::vector<std::string> options;
    for (const MetricResult* result : latestOf(session, isWanted))
        options.push_back("metric=" + fileForm(result->request.resultId()));
    return options;
}

double sizeOf(const MetricResult& result) {
    const auto [least, greatest] = finiteRange(result.values.values());
    return std::max(std::abs(least), std::abs(greatest));
}

/// Whether two metrics can be lines above one axis.
bool shareAnAxis(const MetricResult& a, const MetricResult& b) {
    constexpr double most = 10;
    const double ratio = sizeOf(a) / sizeOf(b);
    return a.request.info->unit == b.request.info->unit && ratio <= most && ratio >= 1 / most;
}

bool isScored(const Curves& curves) {
    return curves.areScored() &&
           std::ranges::any_of(curves.curves, [](const Curve& curve) { return !curve.points.empty(); });
}

} // namespace

std::vector<std::string> headMapsOfReport(const Session& session) {
    return metricOptions(session, [](Scope scope) { return scope == Scope::head || scope == Scope::kvGroup; });
}

std::vector<std::string> neuronBandsOfReport(const Session& session) {
    return metricOptions(session, [](Scope scope) { return scope == Scope::neuron; });
}

std::vector<std::string> layerLinesOfReport(const Session& session) {
    constexpr std::size_t mostLines = 3;
    std::vector<std::vector<const MetricResult*>> groups;
    for (const MetricResult* result : latestOf(session, [](Scope scope) { return scope == Scope::layer; })) {
        const auto group = std::ranges::find_if(groups, [&](const std::vector<const MetricResult*>& other) {
            return other.size() < mostLines && shareAnAxis(*other.front(), *result);
        });
        if (group == groups.end())
            groups.push_back({result});
        else
            group->push_back(result);
    }
    std::vector<std::string> options;
    for (const std::vector<const MetricResult*>& group : groups) {
        std::vector<std::string> ids;
        for (const MetricResult* result : group)
            ids.push_back(fileForm(result->request.resultId()));
        options.push_back("metrics=" + join(ids, "/"));
    }
    return options;
}

std::vector<std::string> evaluationsOfReport(const Session& session) {
    const auto count = std::ranges::count_if(session.evaluations,
                                             [](const Evaluation& evaluation) { return evaluation.text.has_value(); });
    return count > 1 ? std::vector<std::string>{""} : std::vector<std::string>();
}

std::vector<std::string> curvesOfReport(const Session& session) {
    std::vector<std::string> options;
    for (std::size_t set = 0; set < session.curves.size(); ++set) {
        const Curves& curves = session.curves[set];
        if (!isScored(curves))
            continue;
        if (!curves.conditions.scored.digest.empty())
            options.push_back(fmt::format("set={}", set));
        for (const CurveTask& task : curves.tasks)
            options.push_back(fmt::format("set={}:task={}", set, task.name));
    }
    return options;
}

std::vector<std::string> setsOfReport(const Session& session) {
    std::vector<std::string> options;
    for (std::size_t set = 0; set < session.curves.size(); ++set)
        if (isScored(session.curves[set]))
            options.push_back(fmt::format("set={}", set));
    return options;
}

} // namespace secateur
