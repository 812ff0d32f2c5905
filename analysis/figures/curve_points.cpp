#include "analysis/figures/curve_points.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace secateur {

namespace {

std::set<std::string> masksOf(const Curves& curves) {
    std::set<std::string> masks{"dense"};
    for (const Curve& curve : curves.curves)
        for (const CurvePoint& point : curve.points)
            masks.insert(point.mask);
    return masks;
}

bool isSameTask(const TaskEvaluation& task, const CurveTask& asked) {
    return task.name == asked.name && task.formatId == asked.format &&
           static_cast<std::int64_t>(task.run.scores.count) == asked.questions;
}

void setMetric(CurvePoint& point, PointMetric metric) {
    std::erase_if(point.tasks,
                  [&](const PointMetric& each) { return each.task == metric.task && each.id == metric.id; });
    point.tasks.push_back(std::move(metric));
}

void addTask(CurvePoint& point, const TaskEvaluation& task) {
    for (const TaskMetric& metric : task.run.scores.metrics) {
        PointMetric own{task.name, metric.id, metric.value, metric.standardError};
        if (task.reference)
            for (const MetricDifference& difference : task.reference->differences)
                if (difference.id == metric.id) {
                    own.delta = difference.value;
                    own.deltaStandardError = difference.standardError;
                }
        setMetric(point, std::move(own));
    }
}

void addText(CurvePoint& point, const TextEvaluation& text, const CurvePoint& dense) {
    point.lossNats = text.perplexity.lossNats;
    point.perplexity = std::exp(point.lossNats);
    point.deltaNats = text.reference ? text.reference->difference.nats : point.lossNats - dense.lossNats;
    point.deltaStandardError = text.reference ? text.reference->difference.standardError : notMeasured;
}

/// Adds what an evaluation measured under the conditions of the curves. @returns whether there was anything
bool addEvaluation(CurvePoint& point, const Evaluation& evaluation, const Curves& curves) {
    bool hasAny = false;
    const ScoredSource& scored = curves.conditions.scored;
    if (const auto& text = evaluation.text; text && text->digest == scored.digest && text->isComplete() &&
                                            text->perplexity.rules.protocol == scored.rules.protocol) {
        addText(point, *text, curves.dense);
        hasAny = true;
    }
    if (const auto& pooled = evaluation.pooled; pooled && pooled->digest == scored.digest) {
        point.pooledDistance = pooled->distance.relative.value;
        point.pooledStandardError = pooled->distance.relative.standardError;
        hasAny = true;
    }
    for (const TaskEvaluation& task : evaluation.tasks)
        if (std::ranges::any_of(curves.tasks, [&](const CurveTask& asked) { return isSameTask(task, asked); })) {
            addTask(point, task);
            hasAny = true;
        }
    if (const auto& latency = evaluation.latency;
        latency && curves.latency == CurveLatency{latency->rules.promptTokens, latency->rules.newTokens})
        point.tokensPerSecond = latency->tokensPerSecond(latency->run);
    return hasAny;
}

CurvePoint pricedPoint(const SessionMask& mask, const PriceList& prices) {
    const Price price = prices.price(mask.record.mask);
    CurvePoint point;
    point.mask = mask.digest;
    point.removed = removedUnits(price);
    point.parameters = price.parameters.left;
    point.kvBytesPerToken = price.kvBytesPerToken.left;
    point.operationsPerToken = price.operationsPerToken.left;
    return point;
}

} // namespace

std::vector<OtherPoint> otherPoints(const Session& session, const Curves& curves, const PriceList& prices) {
    const std::set<std::string> known = masksOf(curves);
    std::vector<OtherPoint> others;
    for (std::size_t i = 0; i < session.evaluations.size(); ++i) {
        const Evaluation& stored = session.evaluations[i];
        const SessionMask* mask = session.mask(stored.mask.digest);
        const bool isKnown = mask && known.contains(mask->digest) && !stored.adapter.isPresent();
        if (!mask || isKnown || stored.dtype != curves.conditions.dtype)
            continue;
        const auto same = std::ranges::find_if(others, [&](const OtherPoint& other) {
            return other.point.mask == mask->digest &&
                   session.evaluations[other.evaluation].adapter.digest == stored.adapter.digest;
        });
        OtherPoint other = same == others.end() ? OtherPoint{i, pricedPoint(*mask, prices)} : *same;
        if (!addEvaluation(other.point, compared(session, stored), curves))
            continue;
        other.evaluation = i;
        if (same == others.end())
            others.push_back(std::move(other));
        else
            *same = std::move(other);
    }
    return others;
}

} // namespace secateur
