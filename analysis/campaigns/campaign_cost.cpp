#include "analysis/campaigns/sweep_state.h"

#include "analysis/compensation/fit_compensation.h"
#include "analysis/evaluation/prefill.h"
#include "analysis/metrics/ablation.h"
#include "analysis/metrics/measure_stages.h"
#include "analysis/running/run_speed.h"
#include "analysis/running/runner.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

std::vector<MetricRequest> metricsThatNeed(Needs needs, const std::vector<MetricRequest>& all) {
    std::vector<MetricRequest> some;
    for (const MetricRequest& metric : all)
        if (metric.info->needs == needs)
            some.push_back(metric);
    return some;
}

/// The cost of measuring metrics in forward passes over the calibration text.
double measuringPasses(const Model& model, const Plan& plan, const SweepInputs& inputs,
                       const std::vector<MetricRequest>& metrics) {
    const SequenceText& text = inputs.calibration;
    double passes = metricsThatNeed(Needs::forward, metrics).empty() ? 0 : measuringFactor;
    if (const auto gradients = metricsThatNeed(Needs::gradient, metrics); !gradients.empty()) {
        const GradientRun run{plan, text.set.sequences, text.labels, inputs.batchTokens};
        passes += upFactor + backwardFactor * backwardPasses(model, run, gradients);
    }
    if (const auto ablations = metricsThatNeed(Needs::ablation, metrics); !ablations.empty()) {
        const AblationRun run{plan, text.set.sequences, text.labels, inputs.batchTokens};
        passes += ablationPasses(model, run, ablations).layers;
    }
    return passes;
}

/// The passes of a strategy for a budget; for one that it cannot reach, those for the largest that it can.
double passesFor(const ModelSpec& spec, PruneRequest request) {
    try {
        return calibrationPasses(spec, request);
    } catch (const BudgetTooLarge& error) {
        request.budget = error.largest();
        return calibrationPasses(spec, request);
    }
}

/// Passes for the compensations of masks that are still to be chosen, before the masks are known: as for cuts in all
/// sublayers, which take longest.
double fittingPasses(const ModelSpec& spec, const SweepInputs& inputs, const SweepPlan& plan) {
    PruningMask cut(spec);
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        LayerMask own = cut.layer(layer);
        if (own.heads.size() > 1)
            own.heads.front() = false;
        if (!own.neurons.empty())
            own.neurons.front() = false;
        cut.setLayer(layer, own);
    }
    std::map<std::tuple<std::size_t, int, std::string, std::string>, double> fits; // recovered points share them
    for (const PlannedPoint& point : plan.left)
        if (!point.isChosen)
            fits[{point.series, point.key.repetition, budgetText(point.key.budget), point.key.compensation}] =
                compensationPasses(spec, cut, compensationModeOf(point.key.compensation),
                                   inputs.calibration.data.allTokens);
    double passes = 0;
    for (const auto& [fit, own] : fits)
        passes += own;
    return passes;
}

/// The passes of strategies that read the text themselves. One path serves all budgets, so that only the costliest one
/// of each path counts, unless the path measures each budget by itself.
double strategyPasses(const ModelSpec& spec, const SweepRequest& request, const SweepPlan& plan) {
    std::map<std::tuple<std::size_t, int, std::string>, double> ofPaths;
    for (const PlannedPoint& point : plan.left) {
        if (point.isChosen)
            continue;
        const bool isAlone = request.series[point.series].strategy.info->measuresEachBudget;
        double& most =
            ofPaths[{point.series, point.key.repetition, isAlone ? budgetText(point.key.budget) : std::string()}];
        most = std::max(most, choosingPasses(spec, request, point));
    }
    double passes = 0;
    for (const auto& [path, most] : ofPaths)
        passes += most;
    return passes;
}

double taskSecondsOf(const Model& model, const RunSpeed& speed, const SweepInputs& inputs, const Plan& plan,
                     const Progress& progress) {
    double seconds = 0;
    for (const AskedTask& asked : inputs.tasks) {
        const TaskWork work = workOf(asked, model.spec(), *inputs.tokenizer, progress);
        const double step = work.steps > 0 ? stepSeconds(model, plan, progress) : 0;
        seconds += taskSeconds(speed, model.spec(), plan.mask(), work, step);
    }
    return seconds;
}

/// Adds the recovery trainings of points that are not scored yet. Under a mask they take less than in the dense model.
void addTrainings(SweepCost& cost, const SweepInputs& inputs, const SweepPlan& plan, const RunSpeed& speed,
                  const ModelSpec& spec) {
    const SweepRecovery& recovery = *inputs.recovery;
    const TrainingForecast one = trainingForecast(recovery.settings, recovery.size, speed, spec, PruningMask(spec));
    cost.trainings = static_cast<int>(std::ranges::count_if(plan.left, [&](const PlannedPoint& point) {
        return !point.key.recovered.empty() && (inputs.scored ? point.needsText : point.needsTasks);
    }));
    cost.trainingTokens = one.tokens;
    cost.trainingSeconds = cost.trainings * one.seconds;
}

} // namespace

double choosingPasses(const ModelSpec& spec, const SweepRequest& request, const PlannedPoint& point) {
    const PruneRequest prune{request.series[point.series].strategy,
                             point.key.budget,
                             request.protect,
                             point.key.seed.value_or(request.seed),
                             request.base,
                             request.positions};
    try {
        return passesFor(spec, prune);
    } catch (const Error&) {
        return 0; // the point will fail in the same way, and record why
    }
}

SweepCost costOf(const Model& model, const SweepRequest& request, const SweepInputs& inputs, const SweepPlan& plan,
                 const Progress& progress) {
    SweepCost cost;
    if (plan.isDone())
        return cost;
    const ModelSpec& spec = model.spec();
    const PruningMask dense(spec);
    const auto densePlan = model.runner().plan(dense, inputs.type);
    const RunSpeed speed = runSpeed(model, *densePlan, progress);
    cost.choosingPasses = measuringPasses(model, *densePlan, inputs, plan.metrics) +
                          strategyPasses(spec, request, plan) + fittingPasses(spec, inputs, plan);
    cost.choosingSeconds = cost.choosingPasses * runSeconds(speed, spec, dense, sizeOf(inputs.calibration.set));

    const auto count = [&](bool PlannedPoint::*what) {
        return static_cast<double>(std::ranges::count(plan.left, true, what)) + (plan.needsDense ? 1 : 0);
    };
    cost.scoringPasses = inputs.scored || inputs.pooled ? count(&PlannedPoint::needsText) : 0;
    if (inputs.scored)
        cost.scoringSeconds += cost.scoringPasses * runSeconds(speed, spec, dense, sizeOf(inputs.scored->scored));
    if (inputs.pooled)
        cost.scoringSeconds += 2 * cost.scoringPasses * runSeconds(speed, spec, dense, sizeOf(inputs.pooled->set));
    if (!inputs.tasks.empty())
        cost.scoringSeconds +=
            count(&PlannedPoint::needsTasks) * taskSecondsOf(model, speed, inputs, *densePlan, progress);
    if (inputs.recovery)
        addTrainings(cost, inputs, plan, speed, spec);
    if (inputs.latency)
        cost.scoringSeconds +=
            count(&PlannedPoint::needsLatency) *
            latencySeconds(speed, spec, dense, *inputs.latency, stepSeconds(model, *densePlan, progress));
    return cost;
}

} // namespace secateur
