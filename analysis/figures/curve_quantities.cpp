#include "analysis/figures/curve_quantities.h"

#include "analysis/base/known_ids.h"
#include "analysis/masks/mask_algebra.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace secateur {

namespace {

double removedShare(double left, double all) {
    return all > 0 ? 100 * (1 - left / all) : notMeasured;
}

double removedUnitsOf(const RemovedUnits& removed, CutUnit unit) {
    switch (unit) {
    case CutUnit::head:
        return removed.heads;
    case CutUnit::kvGroup:
        return removed.kvHeads;
    case CutUnit::neuron:
        return static_cast<double>(removed.neurons);
    case CutUnit::attention:
        return removed.attention + removed.bypassed;
    case CutUnit::mlp:
        return removed.mlps;
    case CutUnit::block:
        return removed.blocks;
    }
    return notMeasured;
}

template <CutUnit unit> double countOf(const CurvePoint& point, const CurveScale&) {
    return removedUnitsOf(point.removed, unit);
}
template <CutUnit unit> std::string countLabel(const CurveScale&) {
    return fmt::format("{} removed", plural(unit));
}

double paramsOf(const CurvePoint& point, const CurveScale& scale) {
    return removedShare(static_cast<double>(point.parameters), static_cast<double>(scale.dense.parameters.all));
}
double kvOf(const CurvePoint& point, const CurveScale& scale) {
    return removedShare(point.kvBytesPerToken, scale.dense.kvBytesPerToken.all);
}
double flopsOf(const CurvePoint& point, const CurveScale& scale) {
    return removedShare(point.operationsPerToken, scale.dense.operationsPerToken.all);
}
double unitsOf(const CurvePoint& point, const CurveScale& scale) {
    return scale.unit ? removedUnitsOf(point.removed, *scale.unit) : notMeasured;
}
double secondsOf(const CurvePoint& point, const CurveScale&) {
    return point.choosingSeconds;
}
double speedOf(const CurvePoint& point, const CurveScale&) {
    return point.tokensPerSecond;
}

constexpr std::array xs{
    XQuantity{{"params", "parameters removed"}, BetterEnd::high, true,
              [](const CurveScale&) -> std::string { return "parameters removed (%)"; }, paramsOf},
    XQuantity{{"kv", "KV cache removed"}, BetterEnd::high, true,
              [](const CurveScale&) -> std::string { return "KV cache per token removed (%)"; }, kvOf},
    XQuantity{{"flops", "operations removed"}, BetterEnd::high, true,
              [](const CurveScale&) -> std::string { return "operations per token removed (%)"; }, flopsOf},
    XQuantity{{"units", "units removed"}, BetterEnd::high, true,
              [](const CurveScale& scale) {
                  return fmt::format("{} removed", scale.unit ? plural(*scale.unit) : "units");
              },
              unitsOf},
    XQuantity{{"heads", "heads removed"}, BetterEnd::high, true, countLabel<CutUnit::head>, countOf<CutUnit::head>},
    XQuantity{{"neurons", "neurons removed"}, BetterEnd::high, true, countLabel<CutUnit::neuron>,
              countOf<CutUnit::neuron>},
    XQuantity{{"attention", "attention sublayers removed"}, BetterEnd::high, true,
              [](const CurveScale&) -> std::string { return "attention sublayers removed or bypassed"; },
              countOf<CutUnit::attention>},
    XQuantity{{"mlps", "MLPs removed"}, BetterEnd::high, true, countLabel<CutUnit::mlp>, countOf<CutUnit::mlp>},
    XQuantity{{"blocks", "blocks removed"}, BetterEnd::high, true, countLabel<CutUnit::block>,
              countOf<CutUnit::block>},
    XQuantity{{"seconds", "seconds of choosing"}, BetterEnd::low, false,
              [](const CurveScale&) -> std::string { return "time to choose the mask (seconds)"; }, secondsOf},
    XQuantity{{"speed", "tokens per second"}, BetterEnd::high, false,
              [](const CurveScale&) -> std::string { return "speed of generation (tokens per second)"; }, speedOf},
};

std::string perUnit(const CurveScale& scale) {
    return scale.isPerWord ? "nats per word" : "nats per token";
}

CurveValue deltaOf(const CurvePoint& point, const CurveScale&) {
    return {point.deltaNats, point.deltaStandardError};
}
CurveValue lossOf(const CurvePoint& point, const CurveScale&) {
    return {point.lossNats, point.deltaStandardError};
}
CurveValue perplexityOf(const CurvePoint& point, const CurveScale&) {
    return {point.perplexity, point.perplexity * point.deltaStandardError};
}
CurveValue taskOf(const CurvePoint& point, const CurveScale& scale) {
    const PointMetric* metric = point.metric(scale.task, scale.metric);
    return metric ? CurveValue{metric->value, metric->deltaStandardError} : CurveValue();
}
CurveValue pooledOf(const CurvePoint& point, const CurveScale&) {
    return {point.pooledDistance, point.pooledStandardError};
}

constexpr std::array ys{
    YQuantity{{"delta", "rise of the loss"}, BetterEnd::low, false,
              [](const CurveScale& scale) { return fmt::format("rise of the loss ({})", perUnit(scale)); }, deltaOf},
    YQuantity{{"loss", "loss"}, BetterEnd::low, false,
              [](const CurveScale& scale) { return fmt::format("loss ({})", perUnit(scale)); }, lossOf},
    YQuantity{{"perplexity", "perplexity"}, BetterEnd::low, true,
              [](const CurveScale& scale) -> std::string {
                  return scale.isPerWord ? "perplexity per word" : "perplexity";
              },
              perplexityOf},
    YQuantity{{"pooled", "distance of pooled outputs"}, BetterEnd::low, false,
              [](const CurveScale&) -> std::string { return "relative distance of pooled outputs"; }, pooledOf},
    YQuantity{{"task", "metric of a task"}, BetterEnd::high, false,
              [](const CurveScale& scale) {
                  return scale.metric == "acc" ? fmt::format("accuracy on {}", scale.task)
                                               : fmt::format("{} on {}", scale.metric, scale.task);
              },
              taskOf},
};

constexpr auto lists = [] {
    std::pair<std::array<CurveQuantity, xs.size()>, std::array<CurveQuantity, ys.size()>> both;
    std::ranges::copy(xs, both.first.begin());
    std::ranges::copy(ys, both.second.begin());
    return both;
}();

} // namespace

std::span<const CurveQuantity> curveXs() {
    return lists.first;
}

std::span<const CurveQuantity> curveYs() {
    return lists.second;
}

const XQuantity& xQuantity(std::string_view id) {
    const auto found = std::ranges::find(xs, id, &XQuantity::id);
    if (found == xs.end())
        refuseUnknown("quantity of x", std::string(id), idsOf(xs));
    return *found;
}

const YQuantity& yQuantity(std::string_view id) {
    const auto found = std::ranges::find(ys, id, &YQuantity::id);
    if (found == ys.end())
        refuseUnknown("quantity of y", std::string(id), idsOf(ys));
    return *found;
}

const YQuantity& firstMeasured(const Curves& curves, const CurveScale& scale, bool namesTask) {
    if (namesTask)
        return yQuantity("task");
    for (const YQuantity& y : ys)
        for (const Curve& curve : curves.curves)
            for (const CurvePoint& point : curve.points)
                if (std::isfinite(y.value(point, scale).value))
                    return y;
    return ys.front();
}

bool isHighBetter(const YQuantity& y, const CurveScale& scale) {
    return y.better == BetterEnd::high && scale.metric != "perplexity"; // of tasks such as LAMBADA
}

} // namespace secateur
