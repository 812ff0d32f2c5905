#include "analysis/campaigns/curves.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

auto sortKey(const PointKey& key) {
    const bool isOwn = key.compensation == "own";
    return std::tuple(key.budget.of, key.budget.isPercentage, key.budget.amount, !isOwn, key.compensation,
                      key.recovered, key.repetition, key.seed);
}

bool isMeasured(const CurvePoint& point) {
    return !std::isnan(point.lossNats) || !std::isnan(point.pooledDistance) || !point.tasks.empty();
}

void keepMeasured(double& value, double earlier) {
    if (std::isnan(value))
        value = earlier;
}

/// Fills in what a point lacks from an earlier point with the same mask.
void completeFrom(CurvePoint& point, const CurvePoint& earlier) {
    for (double CurvePoint::*number :
         {&CurvePoint::lossNats, &CurvePoint::deltaNats, &CurvePoint::deltaStandardError, &CurvePoint::perplexity,
          &CurvePoint::pooledDistance, &CurvePoint::pooledStandardError, &CurvePoint::tokensPerSecond,
          &CurvePoint::choosingSeconds, &CurvePoint::scoringSeconds, &CurvePoint::trainingSeconds})
        keepMeasured(point.*number, earlier.*number);
    if (point.parameters == 0) { // the price of the mask is not known
        point.removed = earlier.removed;
        point.parameters = earlier.parameters;
        point.kvBytesPerToken = earlier.kvBytesPerToken;
        point.operationsPerToken = earlier.operationsPerToken;
    }
    for (const PointMetric& metric : earlier.tasks)
        if (!point.metric(metric.task, metric.id))
            point.tasks.push_back(metric);
    std::ranges::sort(point.tasks, {}, [](const PointMetric& metric) { return std::tie(metric.task, metric.id); });
}

void replace(CurvePoint& earlier, CurvePoint later) {
    if (!later.error.empty() && earlier.error.empty() && isMeasured(earlier))
        return; // a failure elsewhere does not undo what was measured
    if (earlier.mask == later.mask)
        completeFrom(later, earlier);
    earlier = std::move(later);
}

Curve& curveOf(Curves& curves, const std::string& strategy) {
    const auto place = std::ranges::lower_bound(curves.curves, strategy, {}, &Curve::strategy);
    if (place != curves.curves.end() && place->strategy == strategy)
        return *place;
    return *curves.curves.insert(place, {strategy, {}});
}

void addPoint(Curve& curve, const CurvePoint& point) {
    const auto place = std::ranges::lower_bound(curve.points, point.key, comesBefore, &CurvePoint::key);
    if (place != curve.points.end() && place->key == point.key)
        replace(*place, point);
    else
        curve.points.insert(place, point);
}

} // namespace

bool comesBefore(const PointKey& one, const PointKey& other) {
    return sortKey(one) < sortKey(other);
}

const PointMetric* CurvePoint::metric(std::string_view task, std::string_view id) const {
    const auto found =
        std::ranges::find_if(tasks, [&](const PointMetric& metric) { return metric.task == task && metric.id == id; });
    return found == tasks.end() ? nullptr : &*found;
}

const CurvePoint* Curve::point(const PointKey& key) const {
    const auto found = std::ranges::find(points, key, &CurvePoint::key);
    return found == points.end() ? nullptr : &*found;
}

bool CurveConditions::choosesLike(const CurveConditions& other) const {
    return calibrationDigest == other.calibrationDigest && dtype == other.dtype && device == other.device &&
           protect == other.protect && baseDigest == other.baseDigest && positions == other.positions;
}

bool CurveConditions::isLike(const CurveConditions& other) const {
    return choosesLike(other) && scored.digest == other.scored.digest && scored.rules == other.scored.rules;
}

const Curve* Curves::curve(std::string_view strategy) const {
    const auto found = std::ranges::find(curves, strategy, &Curve::strategy);
    return found == curves.end() ? nullptr : &*found;
}

bool canJoin(const Curves& one, const Curves& other) {
    const auto differs = [&](const CurveTask& task) {
        const auto same = std::ranges::find(other.tasks, task.name, &CurveTask::name);
        return same != other.tasks.end() && same->digest != task.digest;
    };
    const bool hasOtherLatency = one.latency && other.latency && *one.latency != *other.latency;
    return one.conditions.isLike(other.conditions) && std::ranges::none_of(one.tasks, differs) && !hasOtherLatency;
}

void join(Curves& all, const Curves& more) {
    for (const CurveTask& task : more.tasks)
        if (std::ranges::find(all.tasks, task.name, &CurveTask::name) == all.tasks.end())
            all.tasks.push_back(task);
    std::ranges::sort(all.tasks, {}, &CurveTask::name);
    if (!all.latency)
        all.latency = more.latency;
    for (const std::string& warning : more.warnings)
        if (std::ranges::find(all.warnings, warning) == all.warnings.end())
            all.warnings.push_back(warning);
    all.conditions.scoresCalibrationText |= more.conditions.scoresCalibrationText;
    replace(all.dense, more.dense);
    for (const Curve& curve : more.curves)
        for (const CurvePoint& point : curve.points)
            addPoint(curveOf(all, curve.strategy), point);
}

void add(std::vector<Curves>& all, const Curves& more) {
    const auto same = std::ranges::find_if(all, [&](const Curves& one) { return canJoin(one, more); });
    if (same == all.end()) {
        all.push_back({.conditions = more.conditions});
        join(all.back(), more);
    } else {
        join(*same, more);
    }
}

std::set<std::string> masksOfCurves(const std::vector<Curves>& all) {
    std::set<std::string> digests;
    for (const Curves& curves : all)
        for (const Curve& curve : curves.curves)
            for (const CurvePoint& point : curve.points)
                digests.insert(point.mask);
    return digests;
}

RemovedUnits removedUnits(const Price& price) {
    return {price.heads.saved(), price.kvHeads.saved(), price.neurons.saved(), price.attention.saved(),
            price.mlps.saved(),  price.blocks.saved(),  price.bypassed};
}

} // namespace secateur
