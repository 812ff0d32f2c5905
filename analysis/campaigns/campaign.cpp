#include "analysis/campaigns/campaign.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/compensation/compensation_mode.h"
#include "analysis/masks/price.h"
#include "analysis/masks/protection.h"
#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <utility>

namespace secateur {

namespace {

ScoredSource scoredSource(const SweepInputs& inputs) {
    if (inputs.scored) {
        const ScoredText& text = inputs.scored->scored;
        return {inputs.scored->source, inputs.scored->digest, text.windows.tokens, std::ssize(text.windows.sequences),
                text.rules};
    }
    if (inputs.pooled)
        return {inputs.pooled->data.source,
                inputs.pooled->digest,
                inputs.pooled->data.tokens,
                inputs.pooled->data.sequences,
                {}};
    return {};
}

std::int64_t askedQuestions(const AskedTask& asked) {
    const std::size_t all = asked.task.questions.size() + asked.task.texts.size() + asked.task.prompts.size();
    return static_cast<std::int64_t>(chosenQuestions(all, asked.rules).size());
}

/// The dense model as a point, without numbers that must be measured.
CurvePoint densePoint(const Model& model, int positions, bool isPooled) {
    const PruningMask dense(model.spec());
    const Price price = PriceList(model.card(), {.positions = positions}).price(dense);
    CurvePoint point{.mask = "dense"};
    point.parameters = price.parameters.left;
    point.kvBytesPerToken = price.kvBytesPerToken.left;
    point.operationsPerToken = price.operationsPerToken.left;
    if (isPooled)
        point.pooledDistance = point.pooledStandardError = 0;
    return point;
}

/// The conditions of a sweep, without curves.
Curves emptyCurves(const Model& model, const SweepRequest& request, const SweepInputs& inputs) {
    const PruningMask base = request.base.value_or(PruningMask(model.spec()));
    base.checkFits(model.spec());
    const auto plan = model.runner().plan(PruningMask(model.spec()), inputs.type);
    Curves curves{.conditions = {.calibration = inputs.calibration.data,
                                 .calibrationDigest = inputs.calibration.digest,
                                 .scored = scoredSource(inputs),
                                 .dtype = std::string(name(plan->type())),
                                 .device = model.kernels().device(),
                                 .protect = request.protect,
                                 .baseDigest = inputs.maskDigest(base),
                                 .positions = request.positions,
                                 .scoresCalibrationText = inputs.scoresCalibrationText},
                  .dense = densePoint(model, request.positions, inputs.pooled.has_value()),
                  .warnings = inputs.warnings};
    for (const AskedTask& asked : inputs.tasks)
        curves.tasks.push_back({asked.task.name, asked.path, std::string(asked.task.formatId), inputs.taskDigest(asked),
                                askedQuestions(asked)});
    if (inputs.latency)
        curves.latency = {inputs.latency->promptTokens, inputs.latency->newTokens};
    return curves;
}

/// A point of the request.
struct WantedPoint {
    std::size_t series;
    std::string strategy; ///< result id
    PointKey key;
};

std::vector<Budget> sortedBudgets(std::vector<Budget> budgets) {
    std::ranges::sort(budgets, [](const Budget& one, const Budget& other) {
        return comesBefore({.budget = one}, {.budget = other});
    });
    const auto repeated = std::ranges::unique(budgets);
    budgets.erase(repeated.begin(), repeated.end());
    return budgets;
}

/// All points of the request, of all parts: by series, repetition, budget and compensation. A recovered point follows
/// the pruned one.
std::vector<WantedPoint> allPoints(const SweepRequest& request, const std::string& recovery) {
    std::vector<WantedPoint> all;
    for (std::size_t i = 0; i < request.series.size(); ++i) {
        const SweepSeries& series = request.series[i];
        const bool isRandom = series.strategy.needsSeed();
        for (int repetition = 0; repetition < (isRandom ? series.repetitions : 1); ++repetition)
            for (const Budget& budget : sortedBudgets(series.budgets))
                for (const std::string& compensation : request.compensations) {
                    PointKey key{.budget = budget, .compensation = compensation, .repetition = repetition};
                    if (isRandom)
                        key.seed = request.seed + static_cast<std::uint64_t>(repetition);
                    all.push_back({i, series.strategy.resultId(), key});
                    if (recovery.empty())
                        continue;
                    key.recovered = recovery;
                    all.push_back({i, series.strategy.resultId(), std::move(key)});
                }
    }
    std::vector<WantedPoint> distinct;
    for (WantedPoint& point : all) {
        const bool isRepeated = std::ranges::any_of(distinct, [&](const WantedPoint& other) {
            return other.strategy == point.strategy && other.key == point.key;
        });
        if (!isRepeated)
            distinct.push_back(std::move(point));
    }
    return distinct;
}

std::vector<WantedPoint> pointsOfPart(const SweepRequest& request, const SweepInputs& inputs) {
    const bool isRecovered = inputs.recovery && !request.choosesOnly;
    const std::vector<WantedPoint> all = allPoints(request, isRecovered ? inputs.recovery->name : std::string());
    std::vector<WantedPoint> own;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (i % static_cast<std::size_t>(request.parts) == static_cast<std::size_t>(request.part - 1))
            own.push_back(all[i]);
    return own;
}

/// The fields of a point that belong to its mask, without what was measured under it.
CurvePoint chosenPart(const CurvePoint& point) {
    CurvePoint part{.key = point.key, .reached = point.reached, .mask = point.mask, .removed = point.removed};
    part.parameters = point.parameters;
    part.kvBytesPerToken = point.kvBytesPerToken;
    part.operationsPerToken = point.operationsPerToken;
    part.choosingSeconds = point.choosingSeconds;
    return part;
}

/// Finds points in the results of earlier sweeps.
class KnownPoints {
public:
    KnownPoints(const Curves& own, const SweepKnown& known)
        : m_own(own)
        , m_known(known) {}

    /// The point, or what is known of it; empty if its mask has to be chosen.
    std::optional<CurvePoint> find(const WantedPoint& wanted) const {
        for (const Curves& curves : m_known.curves)
            if (const CurvePoint* point = canJoin(curves, m_own) ? pointIn(curves, wanted) : nullptr)
                if (!point->error.empty() || hasMask(*point))
                    return *point;
        for (const Curves& curves : m_known.curves)
            if (const CurvePoint* point = choosesAlike(curves) ? pointIn(curves, wanted) : nullptr)
                if (hasMask(*point))
                    return chosenPart(*point);
        return wanted.key.recovered.empty() ? std::nullopt : ofPruned(wanted);
    }

    const Curves* joined() const {
        const auto found = std::ranges::find_if(m_known.curves, [&](const Curves& one) { return canJoin(one, m_own); });
        return found == m_known.curves.end() ? nullptr : &*found;
    }

private:
    /// A recovered point with the mask of the pruned one, if that is known.
    std::optional<CurvePoint> ofPruned(WantedPoint wanted) const {
        const PointKey key = wanted.key;
        wanted.key.recovered.clear();
        const std::optional<CurvePoint> pruned = find(wanted);
        if (!pruned || !hasMask(*pruned))
            return std::nullopt;
        CurvePoint point = chosenPart(*pruned);
        point.key = key;
        return point;
    }

    bool choosesAlike(const Curves& curves) const { return curves.conditions.choosesLike(m_own.conditions); }

    bool hasMask(const CurvePoint& point) const {
        return point.mask == "dense" || (point.isChosen() && m_known.mask && m_known.mask(point.mask));
    }

    static const CurvePoint* pointIn(const Curves& curves, const WantedPoint& wanted) {
        const Curve* curve = curves.curve(wanted.strategy);
        return curve ? curve->point(wanted.key) : nullptr;
    }

    const Curves& m_own;
    const SweepKnown& m_known;
};

/// What a point lacks of the things that the sweep measures.
PlannedPoint lacking(const CurvePoint& point, const Curves& curves, const SweepInputs& inputs) {
    PlannedPoint planned{.key = point.key, .isChosen = point.isChosen()};
    planned.needsText =
        (inputs.scored && std::isnan(point.lossNats)) || (inputs.pooled && std::isnan(point.pooledDistance));
    planned.needsTasks = std::ranges::any_of(curves.tasks, [&](const CurveTask& task) {
        return std::ranges::find(point.tasks, task.name, &PointMetric::task) == point.tasks.end();
    });
    planned.needsLatency = inputs.latency && std::isnan(point.tokensPerSecond);
    return planned;
}

bool needsWork(const PlannedPoint& point) {
    return !point.isChosen || point.needsText || point.needsTasks || point.needsLatency;
}

/// The metrics that rankings of points without a mask need, without repetitions.
std::vector<MetricRequest> missingMetrics(const SweepRequest& request, const SweepPlan& plan) {
    std::vector<MetricRequest> metrics;
    for (const PlannedPoint& point : plan.left) {
        const StrategyRequest& strategy = request.series[point.series].strategy;
        if (point.isChosen || !strategy.metric || strategy.readsText())
            continue;
        const std::string id = strategy.metric->resultId();
        const auto isSame = [&](const MetricRequest& metric) { return metric.resultId() == id; };
        if (std::ranges::none_of(metrics, isSame))
            metrics.push_back(*strategy.metric);
    }
    std::ranges::stable_partition(metrics,
                                  [](const MetricRequest& metric) { return metric.info->needs == Needs::weights; });
    return metrics;
}

void checkRequest(const Model& model, const SweepRequest& request, const SweepInputs& inputs) {
    if (request.part < 1 || request.part > request.parts)
        throw UsageError(fmt::format("there is no part {} of {}", request.part, request.parts), "--part");
    if (std::ranges::any_of(request.series, [](const SweepSeries& one) { return one.repetitions < 1; }))
        throw UsageError("a strategy runs at least once", "--repeat");
    Protection::parse(request.protect, model.spec());
    const bool isDecoder = model.spec().family == Family::decoder;
    if (inputs.recovery && inputs.pooled)
        throw UsageError("trains on losses, which an encoder without a classification head does not have", "--recover");
    if (inputs.latency && !isDecoder)
        throw UsageError("is for models that generate text; an encoder does not", "--latency");
    if (!request.choosesOnly && !inputs.scored && !inputs.pooled && inputs.tasks.empty())
        throw UsageError("masks of this model are scored on tasks: it has a classification head, and no loss on texts",
                         "--task");
}

} // namespace

std::vector<std::string> parseCompensations(std::string_view list) {
    std::vector<std::string> all;
    for (const std::string& one : split(list, ',')) {
        compensationModeOf(one);
        if (std::ranges::find(all, one) == all.end())
            all.push_back(one);
    }
    return all;
}

void parsePart(std::string_view text, SweepRequest& request) {
    const auto read = [](std::string_view digits, int& number) {
        const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        return failure == std::errc() && end == digits.data() + digits.size();
    };
    const std::size_t slash = text.find('/');
    const bool isRead = slash != std::string_view::npos && read(text.substr(0, slash), request.part) &&
                        read(text.substr(slash + 1), request.parts);
    if (!isRead || request.part < 1 || request.part > request.parts)
        throw UsageError(fmt::format("\"{}\" is no part such as 3/16", text), "--part");
}

SweepPlan planSweep(const Model& model, const SweepRequest& request, const SweepInputs& inputs,
                    const SweepKnown& known) {
    checkRequest(model, request, inputs);
    SweepPlan plan{.known = emptyCurves(model, request, inputs)};
    const KnownPoints points(plan.known, known);
    if (const Curves* earlier = points.joined()) {
        Curves own = *earlier;
        own.curves.clear();
        join(plan.known, own);
    }
    for (const WantedPoint& wanted : pointsOfPart(request, inputs)) {
        const CurvePoint point = points.find(wanted).value_or(CurvePoint{.key = wanted.key});
        ++plan.points;
        const bool isFailed = !point.error.empty();
        plan.failed += isFailed && !request.retriesFailed ? 1 : 0;
        PlannedPoint left = lacking(point, plan.known, inputs);
        left.series = wanted.series;
        if (isFailed ? request.retriesFailed : needsWork(left))
            plan.left.push_back(left);
        if (point.isChosen() || isFailed) {
            Curves one{.conditions = plan.known.conditions, .dense = plan.known.dense};
            one.curves.push_back({wanted.strategy, {point}});
            join(plan.known, one);
        }
    }
    if (plan.points == 0 && !request.choosesOnly)
        throw UsageError("the sweep has no point", request.parts > 1 ? "--part" : "--budgets");
    plan.needsDense = !request.choosesOnly && needsWork(lacking(plan.known.dense, plan.known, inputs));
    plan.metrics = missingMetrics(request, plan);
    return plan;
}

} // namespace secateur
