#include "analysis/strategies/greedy_gnorm.h"

#include "analysis/strategies/cut_lowest.h"
#include "analysis/base/error.h"
#include "analysis/metrics/gradient_walk.h"
#include "analysis/strategies/greedy_quality.h"
#include "analysis/strategies/greedy_stop.h"
#include "analysis/running/runner.h"
#include "analysis/running/stream_cache.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace secateur {

namespace {

PruningMask baseOf(const ModelSpec& spec, const PruneRequest& request) {
    return request.base.value_or(PruningMask(spec));
}

/// How many heads a budget comes to. @throws UsageError when it cannot be met
std::size_t headsOf(const ModelSpec& spec, const PruneRequest& request) {
    const PruningMask any = pruneBy(spec, request, randomValues(spec, CutUnit::head, 0));
    return newlyCut(spec, CutUnit::head, baseOf(spec, request), any);
}

/// Reports of one step, as those of a part of the work, with the step's number.
Progress stepProgress(const Progress& all, std::size_t step, std::size_t steps) {
    const auto share = [&](std::size_t done) { return static_cast<double>(done) / static_cast<double>(steps + 1); };
    return Progress(
        [own = all.part(share(step), share(step + 1)), step, steps](double fraction, std::string_view text) {
            own.report(fraction, fmt::format("step {} of {}, {}", std::min(step + 1, steps), steps, text));
        });
}

class GreedyCutting {
public:
    GreedyCutting(const Model& model, const PruneRequest& request, const GreedyRun& run)
        : m_model(model)
        , m_spec(model.spec())
        , m_request(request)
        , m_run(run)
        , m_metric(*request.strategy.metric)
        , m_base(baseOf(m_spec, request))
        , m_protection(Protection::parse(request.protect, m_spec))
        , m_stop(greedyStopOf(request.strategy.option("stop")))
        , m_heads(headsOf(m_spec, request))
        , m_perStep(static_cast<std::size_t>(perStepOf(request.strategy)))
        , m_plan(model.runner().plan(m_base, run.type))
        , m_scalars(model, run.sequences, run.labels)
        , m_batches(batchesOf(model, batchRuleOf(m_metric), gradientRun()))
        , m_quality(model, m_batches, run.labels, m_scalars, m_scalars.scalarisation(m_metric))
        , m_trace(m_batches.batches.size()) {
        const std::int64_t bytes = m_batches.tokens() * m_spec.hidden * m_spec.layerCount() * 4;
        m_trace.keepsStreams = bytes <= run.streamBytes;
    }

    PruneResult cut(const Progress& progress) {
        const std::size_t steps = (m_heads + m_perStep - 1) / m_perStep;
        PruneHistory history;
        history.measure = m_quality.id();
        PruningMask mask = m_base;
        history.before = measure(steps > 0, stepProgress(progress, 0, steps));
        std::vector<double> cuts;
        std::vector<double> worse;
        for (std::size_t step = 1; step <= steps; ++step) {
            const std::size_t begin = history.cuts.size();
            cutStep(mask, std::min(m_perStep, m_heads - begin), static_cast<int>(step), history.cuts);
            take(mask);
            const double value = measure(step < steps, stepProgress(progress, step, steps));
            for (std::size_t i = begin; i < history.cuts.size(); ++i)
                history.cuts[i].value = value;
            cuts.push_back(static_cast<double>(history.cuts.size()));
            worse.push_back(m_quality.worsening(history.before, value));
            if (m_stop.at == GreedyStop::At::floor && !(worse.back() <= m_stop.worse))
                break;
            history.steps = static_cast<int>(step);
        }
        if (m_stop.at == GreedyStop::At::knee)
            history.steps = static_cast<int>(kneeOf(cuts, worse));
        m_model.checkFiles();
        return {maskOf(history), std::nullopt, std::move(history)};
    }

private:
    GradientRun gradientRun() {
        return {.plan = *m_plan,
                .sequences = m_run.sequences,
                .labels = m_run.labels,
                .batchTokens = m_run.batchTokens,
                .memory = {.trace = &m_trace}};
    }

    /// Takes the next mask: its plan shares the layers that stay as they are, and its walk begins where it differs.
    void take(const PruningMask& mask) {
        m_trace.firstLayer = m_trace.keepsStreams ? commonLayers(m_plan->mask(), mask) : 0;
        m_plan = m_model.runner().plan(mask, m_plan->type());
    }

    /// @returns how good the model is under the plan @param again whether gradients are wanted besides
    double measure(bool again, const Progress& progress) {
        if (again) {
            MetricResult found = std::move(measureGradient(m_model, gradientRun(), std::array{m_metric}, progress)[0]);
            if (!found.isWhole)
                throw Cancelled();
            m_scores = std::move(found.values);
        } else {
            BackwardSteps up;
            up.scalars = [](std::size_t) { return std::vector<BackwardScalar>(); };
            walkBackward(m_model, *m_plan, m_batches.batches, up, {.trace = &m_trace}, progress);
        }
        return m_quality.measure(*m_plan, m_trace);
    }

    void cutStep(PruningMask& mask, std::size_t count, int step, std::vector<HistoricCut>& cuts) const {
        const bool highestFirst = m_request.strategy.highestFirst();
        const CutOrder order{CutUnit::head, highestFirst, {static_cast<double>(count), false}, false};
        const PruningMask next = cutLowest(m_spec, m_scores, order, m_protection, mask);
        const auto begin = std::ssize(cuts);
        for (int layer = 0; layer < m_spec.layerCount(); ++layer)
            for (int head = 0; head < unitsIn(m_spec.layers[static_cast<std::size_t>(layer)], CutUnit::head); ++head)
                if (next.tiedTo(layer).front() == layer && isCut(next, m_spec, CutUnit::head, layer, head) &&
                    !isCut(mask, m_spec, CutUnit::head, layer, head))
                    cuts.push_back({step, {layer, head}, score(layer, head), 0});
        std::stable_sort(cuts.begin() + begin, cuts.end(), [&](const HistoricCut& a, const HistoricCut& b) {
            return highestFirst ? a.score > b.score : a.score < b.score;
        });
        mask = next;
    }

    double score(int layer, int head) const {
        return m_scores(static_cast<std::size_t>(layer), static_cast<std::size_t>(head));
    }

    PruningMask maskOf(const PruneHistory& history) const {
        std::vector<HeadId> heads;
        for (const HistoricCut& cut : history.cuts)
            if (cut.step <= history.steps)
                heads.push_back(cut.head);
        PruningMask mask = m_base;
        setHeads(mask, heads, false);
        return mask;
    }

    const Model& m_model;
    const ModelSpec& m_spec;
    const PruneRequest& m_request;
    const GreedyRun& m_run;
    const MetricRequest& m_metric;
    PruningMask m_base;
    Protection m_protection;
    GreedyStop m_stop;
    std::size_t m_heads;
    std::size_t m_perStep;
    std::shared_ptr<const Plan> m_plan; ///< of the mask so far
    GradientScalars m_scalars;
    PaddedBatches m_batches;
    GreedyQuality m_quality;
    BackwardTrace m_trace;
    Matrix m_scores; ///< [layers, heads] under the plan
};

} // namespace

std::size_t greedySteps(const ModelSpec& spec, const PruneRequest& request) {
    const auto perStep = static_cast<std::size_t>(perStepOf(request.strategy));
    return (headsOf(spec, request) + perStep - 1) / perStep;
}

PruneResult pruneGreedily(const Model& model, const PruneRequest& request, const GreedyRun& run,
                          const Progress& progress) {
    if (run.sequences.empty())
        throw Error("There is no sequence to measure a model on");
    return GreedyCutting(model, request, run).cut(progress);
}

} // namespace secateur
