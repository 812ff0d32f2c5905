#include "analysis/campaigns/sweep_state.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/evaluation/text_evaluator.h"
#include "analysis/masks/price.h"
#include "analysis/model/kernels.h"
#include "analysis/running/runner.h"
#include "analysis/running/stream_cache.h"
#include "analysis/tasks/task_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

namespace {

using ScoringClock = std::chrono::steady_clock;

double secondsAfter(ScoringClock::time_point begin) {
    return std::chrono::duration<double>(ScoringClock::now() - begin).count();
}

/// What has to be measured under a mask.
struct Lacks {
    bool text = false;
    bool tasks = false;
    bool latency = false;

    bool any() const { return text || tasks || latency; }
};

/// A mask, and the points that have it. Recovered points are apart from pruned ones.
struct ScoredMask {
    std::string digest;
    std::string recovered; ///< PointKey::recovered
    PruningMask mask;
    Lacks lacks = {};
    std::vector<SweepState::NamedPoint> points = {};
};

/// Measures masks, and compares them with the dense model. The dense model's losses and answers are taken from an
/// earlier evaluation if there is one.
class MaskScorer {
public:
    explicit MaskScorer(SweepState& state)
        : m_state(state)
        , m_model(state.model)
        , m_densePlan(m_model.runner().plan(PruningMask(m_model.spec()), state.inputs.type)) {}

    /// Measures what the dense model lacks for these needs.
    void prepare(const Lacks& needed, const Progress& progress) {
        const auto begin = ScoringClock::now();
        const auto parts = static_cast<double>(m_state.inputs.tasks.size() + 1);
        CurvePoint dense = m_state.curves().dense;
        if (needed.text && m_state.inputs.scored)
            setLoss(dense, denseText(progress.part(0, 1 / parts).named("dense model")));
        for (std::size_t i = 0; needed.tasks && i < m_state.inputs.tasks.size(); ++i) {
            const auto done = static_cast<double>(i + 1);
            const TaskRun& run =
                denseTask(i, progress.part(done / parts, (done + 1) / parts).named("dense model"));
            setTask(dense, m_state.inputs.tasks[i].task.name, run, nullptr);
        }
        dense.scoringSeconds = std::isnan(dense.scoringSeconds) ? secondsAfter(begin) : dense.scoringSeconds;
        if (needed.latency && std::isnan(dense.tokensPerSecond))
            dense.tokensPerSecond = tokensPerSecond(m_model, *m_densePlan, progress.part(1, 1).named("dense model"));
        m_state.setDense(std::move(dense));
        m_state.store({});
    }

    /// Measures a mask and stores its points. An Error becomes that of the points.
    void score(ScoredMask& work, const Progress& progress) {
        std::string error;
        CurvePoint found;
        m_timingSeconds = 0; // of the dense model or the mask before
        auto begin = ScoringClock::now();
        try {
            if (work.recovered.empty()) {
                measure(work, m_model, found, progress);
            } else {
                const RecoveredModel recovered = trained(work, progress.part(0, trainingShare));
                found.trainingSeconds = recovered.seconds;
                begin = ScoringClock::now();
                measure(work, *recovered.model, found, progress.part(trainingShare, 1));
            }
        } catch (const Error& failure) {
            error = failure.what();
        }
        const double seconds = secondsAfter(begin) - m_timingSeconds;
        bool isFirst = true;
        for (auto& [strategy, point] : work.points) {
            copyMeasured(point, found);
            const double before = std::isnan(point.scoringSeconds) ? 0 : point.scoringSeconds;
            point.scoringSeconds = before + (isFirst ? seconds : 0);
            point.error = error;
            isFirst = false;
        }
        m_state.store(work.points);
    }

private:
    /// Share of the progress of a recovered point until its model is trained. Most trainings are far longer than a
    /// score.
    static constexpr double trainingShare = 0.9;

    RecoveredModel trained(const ScoredMask& work, const Progress& progress) {
        if (!m_state.inputs.recovery)
            throw Error("There is no training for this point", work.recovered);
        RecoveredModel recovered = m_state.inputs.recovery->train(work.mask, work.digest, progress);
        m_state.addWarnings(recovered.warnings);
        return recovered;
    }

    /// The evaluation that an earlier run or this one stores for the dense model.
    Evaluation denseEvaluation() const {
        return {{}, std::string(name(m_densePlan->type())), m_model.kernels().device(), {}, 0, 0, {}, {}, utcNow()};
    }

    bool isDense(const Evaluation& evaluation) const {
        return evaluation.isOf("dense") &&
               evaluation.dtype == name(m_densePlan->type()) && evaluation.device == m_model.kernels().device();
    }

    std::unique_ptr<TextEvaluator> newEvaluator(const Model& model, const Progress& progress) const {
        return std::make_unique<TextEvaluator>(model, m_state.inputs.scored->scored,
                                               EvaluatorOptions{m_densePlan->type(), m_state.inputs.streamBytes,
                                                                m_state.inputs.batchTokens,
                                                                std::numeric_limits<double>::infinity(), true},
                                               progress.part(0, 0));
    }

    TextEvaluator& evaluator(const Progress& progress) {
        if (!m_evaluator)
            m_evaluator = newEvaluator(m_model, progress);
        return *m_evaluator;
    }

    /// The loss of the scored text. A recovered model has an evaluator of its own.
    MaskEvaluation textUnder(const PruningMask& mask, const Model& model, const Progress& progress) {
        return &model == &m_model ? evaluator(progress).evaluate(mask, {}, progress)
                                  : newEvaluator(model, progress)->evaluate(mask, {}, progress);
    }

    const Perplexity& denseText(const Progress& progress) {
        if (m_denseText)
            return *m_denseText;
        const EvaluationText& text = *m_state.inputs.scored;
        for (const Evaluation& known : m_state.known.evaluations)
            if (isDense(known) && known.text && known.text->digest == text.digest &&
                known.text->perplexity.rules == text.scored.rules && known.text->isComplete())
                return m_denseText.emplace(known.text->perplexity);
        const auto begin = ScoringClock::now();
        MaskEvaluation run = evaluator(progress).evaluate(PruningMask(m_model.spec()), {}, progress);
        Evaluation evaluation = denseEvaluation();
        evaluation.seconds = secondsAfter(begin);
        evaluation.text = TextEvaluation{text.source, text.digest, run.run, {}, run.windows};
        m_state.tell({.evaluations = {std::move(evaluation)}});
        return m_denseText.emplace(std::move(run.run));
    }

    const TaskRun& denseTask(std::size_t index, const Progress& progress) {
        if (const auto run = m_denseTasks.find(index); run != m_denseTasks.end())
            return run->second;
        const AskedTask& asked = m_state.inputs.tasks[index];
        for (const Evaluation& known : m_state.known.evaluations)
            for (const TaskEvaluation& task : known.tasks)
                if (isDense(known) && task.digest == asked.digest && task.formatId == asked.task.formatId &&
                    isSameChoice(task.rules, asked.rules))
                    return m_denseTasks.emplace(index, task.run).first->second;
        const auto begin = ScoringClock::now();
        TaskRun run = askTask(m_model, *m_densePlan, *m_state.inputs.tokenizer, asked, progress);
        Evaluation evaluation = denseEvaluation();
        evaluation.tasks.push_back(taskEvaluation(asked, run));
        evaluation.seconds = secondsAfter(begin);
        m_state.tell({.evaluations = {std::move(evaluation)}});
        return m_denseTasks.emplace(index, std::move(run)).first->second;
    }

    /// @param model the model of the sweep, or a recovered one
    void measure(const ScoredMask& work, const Model& model, CurvePoint& found, const Progress& progress) {
        const auto parts = static_cast<double>(m_state.inputs.tasks.size() + 1);
        if (work.lacks.text && m_state.inputs.scored) {
            const Progress part = progress.part(0, 1 / parts);
            const MaskEvaluation run = textUnder(work.mask, model, part);
            setLoss(found, run.run);
            const LossDifference difference = pairedDifference(run.run, denseText(part));
            found.deltaNats = difference.nats;
            found.deltaStandardError = difference.standardError;
        }
        if (!work.lacks.tasks && !work.lacks.latency && !m_state.inputs.pooled)
            return;
        const auto plan = model.runner().plan(work.mask, m_densePlan->type());
        if (work.lacks.text && m_state.inputs.pooled) {
            const PooledDistance distance = pooledDistance(m_model, *plan, *m_densePlan, m_state.inputs.pooled->set,
                                                           m_state.inputs.batchTokens, progress.part(0, 1 / parts));
            found.pooledDistance = distance.relative.value;
            found.pooledStandardError = distance.relative.standardError;
        }
        for (std::size_t i = 0; work.lacks.tasks && i < m_state.inputs.tasks.size(); ++i) {
            const AskedTask& asked = m_state.inputs.tasks[i];
            const auto done = static_cast<double>(i + 1);
            const Progress part = progress.part(done / parts, (done + 1) / parts);
            const TaskRun run = askTask(model, *plan, *m_state.inputs.tokenizer, asked, part);
            setTask(found, asked.task.name, run, &denseTask(i, part));
        }
        if (work.lacks.latency)
            found.tokensPerSecond = tokensPerSecond(model, *plan, progress.part(1, 1));
    }

    static void setLoss(CurvePoint& point, const Perplexity& run) {
        point.lossNats = run.lossNats;
        point.perplexity = run.perplexity();
    }

    static void setTask(CurvePoint& point, const std::string& name, const TaskRun& run, const TaskRun* dense) {
        std::erase_if(point.tasks, [&](const PointMetric& metric) { return metric.task == name; });
        const std::vector<MetricDifference> differences =
            dense ? taskDifferences(*dense, run) : std::vector<MetricDifference>();
        for (const TaskMetric& metric : run.scores.metrics) {
            PointMetric own{name, metric.id, metric.value, metric.standardError};
            const auto difference = std::ranges::find(differences, metric.id, &MetricDifference::id);
            if (difference != differences.end()) {
                own.delta = difference->value;
                own.deltaStandardError = difference->standardError;
            }
            point.tasks.push_back(std::move(own));
        }
    }

    double tokensPerSecond(const Model& model, const Plan& plan, const Progress& progress) {
        const auto begin = ScoringClock::now();
        const Latency latency = generationLatency(model, {plan}, *m_state.inputs.latency, progress);
        m_timingSeconds += secondsAfter(begin);
        return latency.tokensPerSecond(latency.run);
    }

    static void copyMeasured(CurvePoint& point, const CurvePoint& found) {
        for (double CurvePoint::*number :
             {&CurvePoint::lossNats, &CurvePoint::deltaNats, &CurvePoint::deltaStandardError, &CurvePoint::perplexity,
              &CurvePoint::pooledDistance, &CurvePoint::pooledStandardError, &CurvePoint::tokensPerSecond,
              &CurvePoint::trainingSeconds})
            if (!std::isnan(found.*number))
                point.*number = found.*number;
        for (const PointMetric& metric : found.tasks) {
            std::erase_if(point.tasks, [&](const PointMetric& other) {
                return other.task == metric.task && other.id == metric.id;
            });
            point.tasks.push_back(metric);
        }
    }

    SweepState& m_state;
    const Model& m_model;
    std::shared_ptr<const Plan> m_densePlan;
    std::unique_ptr<TextEvaluator> m_evaluator;
    std::optional<Perplexity> m_denseText;
    std::map<std::size_t, TaskRun> m_denseTasks; ///< by index of the task
    double m_timingSeconds = 0;                  ///< seconds of latency since the last score()
};

void addNeeds(Lacks& lacks, const PlannedPoint& planned) {
    lacks.text = lacks.text || planned.needsText;
    lacks.tasks = lacks.tasks || planned.needsTasks;
    lacks.latency = lacks.latency || planned.needsLatency;
}

/// The masks to score, each once, in the order in which they share most; those of recovered points last.
std::vector<ScoredMask> masksToScore(const SweepState& state) {
    std::vector<ScoredMask> masks;
    for (const PlannedPoint& planned : state.plan.left) {
        CurvePoint point = state.pointOf(planned);
        const PruningMask* mask = point.isChosen() ? state.maskOf(point.mask) : nullptr;
        const bool isRetried = planned.isChosen && !point.error.empty();
        if (!mask || (!point.error.empty() && !isRetried))
            continue;
        auto same = std::ranges::find_if(masks, [&](const ScoredMask& other) {
            return other.digest == point.mask && other.recovered == point.key.recovered;
        });
        if (same == masks.end())
            same = masks.insert(masks.end(), {point.mask, point.key.recovered, *mask});
        addNeeds(same->lacks, planned);
        same->points.emplace_back(state.strategyOf(planned), std::move(point));
    }
    std::vector<PruningMask> only;
    for (const ScoredMask& one : masks)
        only.push_back(one.mask);
    std::vector<ScoredMask> ordered;
    for (const std::size_t index : sharingOrder(only))
        ordered.push_back(std::move(masks[index]));
    std::ranges::stable_partition(ordered, [](const ScoredMask& one) { return one.recovered.empty(); });
    return ordered;
}

/// The share of a pass that each mask needs, after the mask before it has run.
std::vector<double> sharesOf(const SweepState& state, std::span<const ScoredMask> masks) {
    std::vector<double> shares;
    PruningMask before(state.model.spec());
    for (const ScoredMask& one : masks) {
        const auto first = static_cast<std::size_t>(commonLayers(before, one.mask));
        const std::vector<double> operations = operationShares(state.model.spec(), one.mask, state.request.positions);
        shares.push_back(one.lacks.tasks || one.lacks.latency ? 1 : operations[first]);
        before = one.mask;
    }
    return shares;
}

} // namespace

void scoreMasks(SweepState& state, double recoveryShare, const Progress& progress) {
    std::vector<ScoredMask> masks = masksToScore(state);
    Lacks needed;
    for (const ScoredMask& one : masks)
        needed = {needed.text || one.lacks.text, needed.tasks || one.lacks.tasks, needed.latency || one.lacks.latency};
    if (state.plan.needsDense)
        needed = {true, true, state.inputs.latency.has_value()};
    if (!needed.any())
        return;
    const auto firstRecovered =
        std::ranges::find_if(masks, [](const ScoredMask& one) { return !one.recovered.empty(); });
    const auto pruned = static_cast<std::size_t>(firstRecovered - masks.begin());
    const auto recovered = masks.size() - pruned;
    const double split = recovered > 0 ? 1 - recoveryShare : 1;
    const std::vector<double> shares = sharesOf(state, {masks.begin(), firstRecovered});
    double all = 1; // the dense model
    for (const double share : shares)
        all += share;
    MaskScorer scorer(state);
    scorer.prepare(needed, progress.part(0, split / all));
    if (state.inputs.ranks.cluster) {
        const auto score = [&](std::size_t i, const Progress& own) { scorer.score(masks[i], own); };
        state.share(masks.size(), score, progress.part(split / all, 1).named("scoring masks"));
        return;
    }
    double done = 1;
    for (std::size_t i = 0; i < masks.size(); ++i) {
        progress.check();
        if (i < pruned) {
            const Progress part = progress.part(split * done / all, split * (done + shares[i]) / all);
            done += shares[i];
            scorer.score(masks[i], part.named(fmt::format("mask {} of {}", i + 1, pruned)));
        } else {
            const double each = (1 - split) / static_cast<double>(recovered);
            const auto number = static_cast<double>(i - pruned);
            const Progress part = progress.part(split + each * number, split + each * (number + 1));
            scorer.score(masks[i], part.named(fmt::format("recovery {} of {}", i - pruned + 1, recovered)));
        }
    }
}

} // namespace secateur
