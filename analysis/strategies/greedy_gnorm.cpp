#include "analysis/strategies/greedy_gnorm.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/metrics/gradient_walk.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"
#include "analysis/running/stream_cache.h"
#include "analysis/strategies/prune.h"
#include "analysis/strategies/step_progress.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

namespace secateur {

namespace {

/// The rule by which a run stops.
struct GreedyStop {
    enum class At {
        budget,
        floor, ///< before the first step after which the quality is more than `worse` worse than at the beginning
        knee,  ///< after the whole budget; the result is the mask at the knee of the quality curve
    };
    At at = At::budget;
    double worse = 0;
};

/// Parses "budget", "floor:X" or "knee".
GreedyStop greedyStopOf(std::string_view option) {
    using At = GreedyStop::At;
    if (option == "budget")
        return {At::budget, 0};
    if (option == "knee")
        return {At::knee, 0};
    constexpr std::string_view floor = "floor:";
    GreedyStop stop{At::floor, 0};
    if (option.starts_with(floor)) {
        const char* const end = option.data() + option.size();
        const auto [last, failure] = std::from_chars(option.data() + floor.size(), end, stop.worse);
        if (failure == std::errc() && last == end && stop.worse >= 0 && std::isfinite(stop.worse))
            return stop;
    }
    throw UsageError(fmt::format("stop={} must be budget, floor:X with a number from 0, or knee", option),
                     "--strategy");
}

/// The value of the option `per_step`: the number of heads to cut in a step.
int perStepOf(const StrategyRequest& request) {
    const std::string text = request.option("per_step");
    int heads = 0;
    const auto [last, failure] = std::from_chars(text.data(), text.data() + text.size(), heads);
    if (failure != std::errc() || last != text.data() + text.size() || heads < 1)
        throw UsageError(fmt::format("per_step={} should be 1 or more", text), std::string(request.info->id));
    return heads;
}

/// Measures the quality of a model from the streams that a backward walk has stored.
class GreedyQuality {
public:
    /// All arguments must outlive this object. @param scalar scalar whose values are in BackwardTrace::values
    GreedyQuality(const Model& model, const PaddedBatches& batches, std::span<const int> labels,
                  const GradientScalars& scalars, Scalarisation scalar);

    std::string_view id() const;
    /// The quality under a plan. The first call must precede the first cut, because `agreement` and `pooled_distance`
    /// compare later outputs with those of the first call.
    double measure(const Plan& plan, const BackwardTrace& trace);
    /// How much worse the quality became between two values of measure(). Negative = it became better.
    double worsening(double before, double after) const;

private:
    enum class Kind { loss, accuracy, agreement, distance };

    double loss(const Plan& plan, const BackwardTrace& trace) const;
    double share(const at::Tensor& logits);
    double distance(const at::Tensor& pooled);
    at::Tensor outputs(const Plan& plan, const BackwardTrace& trace) const;

    const Model& m_model;
    const PaddedBatches& m_batches;
    const GradientScalars& m_scalars;
    Scalarisation m_scalar;
    Kind m_kind;
    at::Tensor m_labels; ///< [texts] int64, in the order of the batches; for `agreement`, the answers of the first call
    at::Tensor m_before; ///< [texts, hidden] float64: the pooled outputs of the first call
};

GreedyQuality::GreedyQuality(const Model& model, const PaddedBatches& batches, std::span<const int> labels,
                             const GradientScalars& scalars, Scalarisation scalar)
    : m_model(model)
    , m_batches(batches)
    , m_scalars(scalars)
    , m_scalar(scalar)
    , m_kind(model.spec().family == Family::decoder ? Kind::loss
             : givesPooledOutput(model)             ? Kind::distance
             : labels.empty()                       ? Kind::agreement
                                                    : Kind::accuracy) {
    if (m_kind != Kind::accuracy)
        return;
    std::vector<std::int64_t> ordered;
    for (const std::vector<std::size_t>& rows : batches.sequences)
        for (const std::size_t sequence : rows)
            ordered.push_back(labels[sequence]);
    m_labels = at::tensor(ordered, at::kLong);
}

std::string_view GreedyQuality::id() const {
    switch (m_kind) {
    case Kind::loss:
        return "loss_nats";
    case Kind::accuracy:
        return "acc";
    case Kind::agreement:
        return "agreement";
    case Kind::distance:
        return "pooled_distance";
    }
    return "";
}

double GreedyQuality::measure(const Plan& plan, const BackwardTrace& trace) {
    switch (m_kind) {
    case Kind::loss:
        return loss(plan, trace);
    case Kind::distance:
        return distance(outputs(plan, trace));
    default:
        return share(outputs(plan, trace));
    }
}

double GreedyQuality::worsening(double before, double after) const {
    const bool isBetterLow = m_kind == Kind::loss || m_kind == Kind::distance;
    return isBetterLow ? after - before : before - after;
}

/// Mean loss per target. If the scalar of the walk is the loss, its values are used, so that logits are not computed
/// twice.
double GreedyQuality::loss(const Plan& plan, const BackwardTrace& trace) const {
    double nats = 0;
    double targets = 0;
    for (std::size_t batch = 0; batch < m_batches.batches.size(); ++batch) {
        const std::vector<std::size_t>& rows = m_batches.sequences[batch];
        const std::vector<double>& values = trace.values[batch];
        for (const std::size_t sequence : rows)
            targets += m_scalars.targets(sequence);
        if (m_scalar == Scalarisation::taskLoss && !values.empty()) {
            for (std::size_t row = 0; row < rows.size(); ++row)
                nats += values[row] * m_scalars.targets(rows[row]);
            continue;
        }
        const BackwardScalar scalar = m_scalars.scalar({}, m_batches.batches[batch], rows);
        const TokenLosses losses =
            m_model.runner().losses(plan, trace.tops[batch], m_batches.batches[batch], scalar.targets);
        for (const float one : losses.nats)
            nats += one;
    }
    return nats / targets;
}

at::Tensor GreedyQuality::outputs(const Plan& plan, const BackwardTrace& trace) const {
    std::vector<at::Tensor> all;
    for (std::size_t batch = 0; batch < m_batches.batches.size(); ++batch)
        all.push_back(
            m_model.runner().lmHead(plan, trace.tops[batch], m_batches.batches[batch]).to(at::kCPU, at::kDouble));
    return at::cat(all);
}

double GreedyQuality::share(const at::Tensor& logits) {
    const at::Tensor answers = logits.argmax(1);
    if (!m_labels.defined())
        m_labels = answers;
    return answers.eq(m_labels).to(at::kDouble).mean().item<double>();
}

double GreedyQuality::distance(const at::Tensor& pooled) {
    if (!m_before.defined())
        m_before = pooled;
    const at::Tensor lengths = pooled.norm(2, 1) * m_before.norm(2, 1);
    return (1 - (pooled * m_before).sum(1) / lengths).mean().item<double>();
}

/// Number of heads that a budget cuts. @throws BudgetTooLarge
std::size_t headsOf(const ModelSpec& spec, const Budget& budget, const Protection& protection,
                    const PruningMask& base) {
    const CutOrder order{CutUnit::head, false, budget, false};
    return lowestUnits(spec, randomValues(spec, CutUnit::head, 0), order, protection, base).size();
}

class GreedyPath : public PrunePath {
public:
    explicit GreedyPath(const PruneContext& context)
        : m_model(context.model)
        , m_spec(context.model.spec())
        , m_strategy(context.request.strategy)
        , m_text(*context.inputs.text)
        , m_metric(*m_strategy.metric)
        , m_base(context.base)
        , m_protection(context.protection)
        , m_stop(greedyStopOf(m_strategy.option("stop")))
        , m_most(cuttable(m_spec, randomValues(m_spec, CutUnit::head, 0), CutUnit::head, m_protection, m_base))
        , m_perStep(static_cast<std::size_t>(perStepOf(m_strategy)))
        , m_plan(m_model.runner().plan(m_base, m_text.type))
        , m_scalars(m_model, m_text.sequences, m_text.labels)
        , m_batches(batchesOf(m_model, batchRuleOf(m_metric), gradientRun()))
        , m_quality(m_model, m_batches, m_text.labels, m_scalars, m_scalars.scalarisation(m_metric))
        , m_trace(m_batches.batches.size())
        , m_mask(m_base) {
        const std::int64_t bytes = m_batches.tokens() * m_spec.hidden * m_spec.layerCount() * 4;
        m_trace.keepsStreams = bytes <= m_text.streamBytes;
        m_history.measure = m_quality.id();
    }

    std::size_t steps() const override { return (m_most + m_perStep - 1) / m_perStep; }
    bool measuresSteps() const override { return true; }

    PruneResult after(std::size_t steps, const Progress& progress) override {
        return cut(std::min(steps * m_perStep, m_most), progress);
    }

    PruneResult spend(const Budget& budget, const Progress& progress) override {
        return cut(headsOf(m_spec, budget, m_protection, m_base), progress);
    }

    std::optional<PruningMask> everything() const override {
        return cutLowest(m_spec, randomValues(m_spec, CutUnit::head, 0),
                         {CutUnit::head, false, {static_cast<double>(m_most), false}, false}, m_protection, m_base);
    }

private:
    /// Cuts up to a number of heads, beginning with the cuts of earlier calls. A last step that cuts fewer heads than
    /// the others is not kept for later calls.
    PruneResult cut(std::size_t heads, const Progress& progress) {
        const std::size_t steps = (heads + m_perStep - 1) / m_perStep;
        if (heads % m_perStep != 0 && heads < m_history.cuts.size())
            startAgain();
        if (!m_hasBegun) {
            m_history.before = measure(heads > 0, stepProgress(progress, 0, steps));
            m_hasBegun = true;
        }
        while (m_history.cuts.size() + m_perStep <= heads && !m_isBelowFloor) {
            const std::size_t step = m_history.cuts.size() / m_perStep + 1;
            makeScores(stepProgress(progress, step - 1, steps));
            PruneHistory history = m_history; // a step that is cancelled leaves no trace
            PruningMask mask = cutStep(m_mask, m_perStep, history.cuts);
            finishStep(mask, history, step < steps, stepProgress(progress, step, steps));
            m_mask = std::move(mask);
            m_history = std::move(history);
            m_isBelowFloor = isBelowFloor(m_history);
        }
        PruneHistory history = m_history;
        std::erase_if(history.cuts, [&](const HistoricCut& cut) { return cut.step > static_cast<int>(steps); });
        if (history.cuts.size() < heads && !m_isBelowFloor) {
            makeScores(stepProgress(progress, steps - 1, steps));
            const PruningMask last = cutStep(m_mask, heads - history.cuts.size(), history.cuts);
            finishStep(last, history, false, stepProgress(progress, steps, steps));
        }
        return resultOf(std::move(history));
    }

    GradientRun gradientRun() {
        return {.plan = *m_plan,
                .sequences = m_text.sequences,
                .labels = m_text.labels,
                .batchTokens = m_text.batchTokens,
                .memory = {.trace = &m_trace}};
    }

    /// Makes the plan for the next mask. It shares unchanged layers with the current plan. The next walk begins at the
    /// first layer that changed, or at the last one if the mask is the same.
    void take(const PruningMask& mask) {
        const int first = std::min(commonLayers(m_plan->mask(), mask), m_spec.layerCount() - 1);
        m_trace.firstLayer = m_trace.keepsStreams && m_isTraceWhole ? first : 0;
        m_plan = m_model.runner().plan(mask, m_plan->type());
    }

    /// Measures under the current plan. @returns the quality @param needsScores whether to measure the metric too, for
    /// a further step
    double measure(bool needsScores, const Progress& progress) {
        m_hasScores = false;
        m_isTraceWhole = false; // until the walk has ended: it may be cancelled
        if (needsScores) {
            MetricResult found = std::move(measureGradient(m_model, gradientRun(), std::array{m_metric}, progress)[0]);
            if (!found.isWhole)
                throw Cancelled();
            m_scores = std::move(found.values);
            m_hasScores = true;
        } else {
            BackwardSteps up;
            up.scalars = [](std::size_t) { return std::vector<BackwardScalar>(); };
            walkBackward(m_model, *m_plan, m_batches.batches, up, {.trace = &m_trace}, progress);
        }
        m_isTraceWhole = true;
        return m_quality.measure(*m_plan, m_trace);
    }

    /// Measures the metric under the mask so far, unless the step before has done so.
    void makeScores(const Progress& progress) {
        if (m_hasScores)
            return;
        take(m_mask);
        measure(true, progress);
    }

    /// Cuts heads in a mask, and adds them to the cuts. @returns the new mask
    PruningMask cutStep(const PruningMask& mask, std::size_t count, std::vector<HistoricCut>& cuts) const {
        const int step = static_cast<int>(cuts.size() / m_perStep) + 1;
        const CutOrder order{CutUnit::head, m_strategy.highestFirst(), {static_cast<double>(count), false}, false};
        const std::vector<OrderedCut> chosen = lowestUnits(m_spec, roundedScores(m_scores), order, m_protection, mask);
        for (const OrderedCut& cut : chosen)
            cuts.push_back({step, {cut.layer, cut.index}, score(cut.layer, cut.index), 0});
        return withCuts(m_spec, chosen, mask);
    }

    /// Measures the quality after a step and records it.
    void finishStep(const PruningMask& mask, PruneHistory& history, bool needsScores, const Progress& progress) {
        take(mask);
        const double value = measure(needsScores, progress);
        const int step = history.cuts.back().step;
        for (HistoricCut& cut : history.cuts)
            if (cut.step == step)
                cut.value = value;
    }

    double score(int layer, int head) const {
        return m_scores(static_cast<std::size_t>(layer), static_cast<std::size_t>(head));
    }

    bool isBelowFloor(const PruneHistory& history) const {
        return m_stop.at == GreedyStop::At::floor &&
               !(m_quality.worsening(history.before, history.cuts.back().value) <= m_stop.worse);
    }

    void startAgain() {
        m_history.cuts.clear();
        m_mask = m_base;
        m_isBelowFloor = false;
        m_hasScores = false;
    }

    /// Applies the rule `stop` to a history, and makes the mask.
    PruneResult resultOf(PruneHistory history) const {
        std::vector<double> cuts;
        std::vector<double> worse;
        for (std::size_t i = 0; i < history.cuts.size(); ++i) {
            const HistoricCut& cut = history.cuts[i];
            if (i + 1 < history.cuts.size() && history.cuts[i + 1].step == cut.step)
                continue;
            cuts.push_back(static_cast<double>(i + 1));
            worse.push_back(m_quality.worsening(history.before, cut.value));
        }
        history.steps = static_cast<int>(cuts.size());
        if (m_stop.at == GreedyStop::At::floor && !worse.empty() && !(worse.back() <= m_stop.worse))
            --history.steps;
        if (m_stop.at == GreedyStop::At::knee)
            history.steps = static_cast<int>(kneeOf(cuts, worse));
        m_model.checkFiles();
        PruningMask mask = maskOf(history);
        std::vector<OrderedCut> order = orderOf(history);
        return {.mask = std::move(mask),
                .history = std::move(history),
                .data = m_text.data,
                .textDigest = m_text.digest,
                .order = std::move(order)};
    }

    /// The cuts that the mask has. Within a step, the order is that of the scores.
    static std::vector<OrderedCut> orderOf(const PruneHistory& history) {
        std::vector<OrderedCut> order;
        for (const HistoricCut& cut : history.cuts)
            if (cut.step <= history.steps)
                order.push_back({cut.unit, cut.head.layer, cut.head.head, cut.score});
        return order;
    }

    PruningMask maskOf(const PruneHistory& history) const {
        std::vector<HeadId> heads;
        for (const OrderedCut& cut : orderOf(history))
            heads.push_back({cut.layer, cut.index});
        PruningMask mask = m_base;
        setHeads(mask, heads, false);
        return mask;
    }

    const Model& m_model;
    const ModelSpec& m_spec;
    const StrategyRequest& m_strategy;
    const CalibrationText& m_text;
    const MetricRequest& m_metric;
    const PruningMask& m_base;
    const Protection& m_protection;
    GreedyStop m_stop;
    std::size_t m_most; ///< number of heads that can be cut
    std::size_t m_perStep;
    std::shared_ptr<const Plan> m_plan; ///< plan of the latest measurement
    GradientScalars m_scalars;
    PaddedBatches m_batches;
    GreedyQuality m_quality;
    BackwardTrace m_trace;
    bool m_isTraceWhole = false; ///< whether m_trace has all streams of m_plan

    // State after the steps so far, without a shorter last step.
    PruningMask m_mask;
    PruneHistory m_history;
    Matrix m_scores; ///< [layers, heads], values of the metric under m_mask
    bool m_hasScores = false;
    bool m_hasBegun = false;
    bool m_isBelowFloor = false;
};

} // namespace

void checkGreedyOptions(const StrategyRequest& request) {
    greedyStopOf(request.option("stop"));
    perStepOf(request);
}

std::size_t greedySteps(const ModelSpec& spec, const PruneRequest& request) {
    const auto perStep = static_cast<std::size_t>(perStepOf(request.strategy));
    const Protection protection = Protection::parse(request.protect, spec);
    const PruningMask base = request.base.value_or(PruningMask(spec));
    const std::size_t heads = request.budget.of == BudgetOf::own ? headsOf(spec, request.budget, protection, base)
                                                                 : cuttable(spec, randomValues(spec, CutUnit::head, 0),
                                                                            CutUnit::head, protection, base);
    return (heads + perStep - 1) / perStep;
}

double greedyPasses(const ModelSpec& spec, const PruneRequest& request) {
    constexpr double passesPerStep = 3.5; // on average half a forward pass, and a backward pass, which counts as 3
    return passesPerStep * static_cast<double>(greedySteps(spec, request));
}

std::size_t kneeOf(std::span<const double> cuts, std::span<const double> worse) {
    if (worse.empty() || !(worse.back() > 0))
        return worse.size();
    std::size_t knee = 0;
    double farthest = 0;
    for (std::size_t i = 0; i < worse.size(); ++i) {
        const double below = cuts[i] / cuts.back() - worse[i] / worse.back();
        if (below > farthest) {
            farthest = below;
            knee = i + 1;
        }
    }
    return knee;
}

std::unique_ptr<PrunePath> beginGreedy(const PruneContext& context, const Progress& /*progress*/) {
    if (context.inputs.text->sequences.empty())
        throw Error("There is no sequence to measure a model on");
    context.checkUnits();
    return std::make_unique<GreedyPath>(context);
}

} // namespace secateur
