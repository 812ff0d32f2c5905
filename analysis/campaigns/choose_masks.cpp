#include "analysis/campaigns/sweep_state.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/compensation/fit_compensation.h"
#include "analysis/masks/price.h"
#include "analysis/model/kernels.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// Maximum number of cuts whose order a mask of a sweep records. A session is written after each point, and the order
/// of all neurons of a large model would be most of it.
constexpr std::size_t mostOrderedCuts = 4096;

/// Measures metrics for rankings. Metrics of a sweep that run the model are measured together, in one pass if possible.
class MetricPool {
public:
    explicit MetricPool(SweepState& state)
        : m_state(state)
        , m_plan(state.model.runner().plan(PruningMask(state.model.spec()), state.inputs.type))
        , m_measurement{state.model.fingerprint(),       "dense",
                        state.inputs.calibration.digest, std::string(name(m_plan->type())),
                        state.model.kernels().device(),  {}} {}

    MetricResult measure(const MetricRequest& metric, const Progress& progress) {
        if (const MetricResult* known = find(metric))
            return *known;
        if (!m_measuresAlone) {
            try {
                run(missing(metric), progress);
            } catch (const Error&) {
                // One of the metrics does not suit the model. The others are not to fail with it.
                m_measuresAlone = true;
            }
        }
        if (!find(metric))
            run({metric}, progress);
        return *find(metric);
    }

    /// Measures the metrics of the plan with all ranks. Those that fail are left to the points that need them.
    void measureTogether(const Progress& progress) {
        std::vector<MetricRequest> wanted;
        for (const MetricRequest& planned : m_state.plan.metrics)
            if (!find(planned))
                wanted.push_back(planned);
        if (wanted.empty())
            return;
        const Cluster* cluster = m_state.inputs.ranks.cluster;
        std::vector<MetricResult> results;
        try {
            results = measured(wanted, progress, cluster);
        } catch (const Error&) {
            m_measuresAlone = true;
        }
        for (std::size_t i = 0; m_measuresAlone && i < wanted.size(); ++i)
            try {
                results.push_back(measured({wanted[i]}, progress, cluster).front());
            } catch (const Error&) {
                continue;
            }
        keep(std::move(results));
    }

private:
    const MetricResult* find(const MetricRequest& metric) const {
        const auto isWanted = [&](const MetricResult& result) {
            const Measurement& own = result.measurement;
            const bool isSameText = metric.info->needs == Needs::weights ||
                                    (own.maskDigest == m_measurement.maskDigest && own.dtype == m_measurement.dtype &&
                                     own.dataDigest == m_measurement.dataDigest && own.device == m_measurement.device);
            return result.isWhole && isSameText && own.fingerprint == m_measurement.fingerprint &&
                   result.request.resultId() == metric.resultId();
        };
        for (const std::span<const MetricResult> results :
             {std::span<const MetricResult>(m_results), m_state.known.results})
            if (const auto found = std::ranges::find_if(results, isWanted); found != results.end())
                return &*found;
        return nullptr;
    }

    /// This metric, and those of the plan that are not measured yet.
    std::vector<MetricRequest> missing(const MetricRequest& metric) const {
        std::vector<MetricRequest> all;
        for (const MetricRequest& planned : m_state.plan.metrics)
            if (!find(planned))
                all.push_back(planned);
        const auto isAsked = [&](const MetricRequest& other) { return other.resultId() == metric.resultId(); };
        if (std::ranges::none_of(all, isAsked))
            all.push_back(metric);
        return all;
    }

    void run(const std::vector<MetricRequest>& metrics, const Progress& progress) {
        keep(measured(metrics, progress, nullptr));
    }

    std::vector<MetricResult> measured(const std::vector<MetricRequest>& metrics, const Progress& progress,
                                       const Cluster* cluster) const {
        const auto readInput = [&](const Progress&) {
            MeasureInput input{m_plan, m_state.inputs.calibration, m_measurement, m_state.inputs.batchTokens};
            input.measurement.created = utcNow();
            input.cluster = cluster;
            return input;
        };
        std::vector<MetricResult> results =
            secateur::measure(m_state.model, metrics, readInput, progress.named("measuring metrics"));
        const bool isWhole = std::ranges::all_of(results, &MetricResult::isWhole);
        if (!isWhole || results.size() < metrics.size())
            throw Cancelled();
        return results;
    }

    void keep(std::vector<MetricResult> results) {
        m_results.insert(m_results.end(), results.begin(), results.end());
        m_state.tell({.results = std::move(results)});
    }

    SweepState& m_state;
    std::shared_ptr<const Plan> m_plan;
    Measurement m_measurement;
    std::vector<MetricResult> m_results;
    bool m_measuresAlone = false;
};

using Planned = std::vector<const PlannedPoint*>;

/// The points of the plan that need a mask: those of one path together, with ascending budgets.
std::vector<Planned> pathsOf(const SweepPlan& plan) {
    std::vector<Planned> paths;
    for (const PlannedPoint& point : plan.left) {
        if (point.isChosen)
            continue;
        const auto isOfPath = [&](const Planned& path) {
            return path.front()->series == point.series && path.front()->key.repetition == point.key.repetition;
        };
        const auto path = std::ranges::find_if(paths, isOfPath);
        if (path == paths.end())
            paths.push_back({&point});
        else
            path->push_back(&point);
    }
    return paths;
}

std::string nameOf(const std::string& strategy, const PointKey& key) {
    const std::string title = fmt::format("{} {}", strategy, budgetText(key.budget));
    return key.seed ? fmt::format("{} seed {}", title, *key.seed) : title;
}

std::size_t countCompensations(const Planned& points) {
    std::set<std::string_view> modes;
    for (const PlannedPoint* point : points)
        modes.insert(point->key.compensation);
    return modes.size();
}

/// A strategy with one seed, whose path serves all budgets.
class ChosenPath {
public:
    ChosenPath(SweepState& state, MetricPool& metrics, const Planned& points)
        : m_state(state)
        , m_points(points)
        , m_request{state.request.series[points.front()->series].strategy,
                    points.back()->key.budget,
                    state.request.protect,
                    points.front()->key.seed.value_or(state.request.seed),
                    state.request.base,
                    state.request.positions} {
        m_inputs.measure = [this, &metrics](const MetricRequest& metric, const Progress& progress) {
            const double before = secondsSoFar();
            MetricResult result = metrics.measure(metric, progress);
            m_elsewhere += secondsSoFar() - before - result.seconds; // metrics of other strategies, measured on the way
            return result;
        };
        const SweepInputs& inputs = state.inputs;
        if (m_request.strategy.readsText())
            m_inputs.text = CalibrationText{.sequences = inputs.calibration.set.sequences,
                                            .labels = inputs.calibration.labels,
                                            .batchTokens = inputs.batchTokens,
                                            .streamBytes = inputs.streamBytes,
                                            .type = inputs.type,
                                            .data = inputs.calibration.data,
                                            .digest = inputs.calibration.digest};
        if (inputs.extend)
            inputs.extend(m_request, m_inputs);
    }

    void choose(const Progress& progress) {
        const auto count = static_cast<double>(m_points.size() + 1);
        try {
            const Progress part = progress.part(0, 1 / count).named(m_state.strategyOf(*m_points.front()));
            m_context.emplace(contextOf(m_state.model, m_request, m_inputs, part));
            m_context->checksBudget = false;
            m_path = m_request.strategy.info->begin(*m_context, part);
        } catch (const Error& error) {
            fail(m_points, error);
            return;
        }
        for (std::size_t i = 0; i < m_points.size();) {
            const Budget& budget = m_points[i]->key.budget;
            Planned same;
            const double done = static_cast<double>(i + 1);
            for (; i < m_points.size() && m_points[i]->key.budget == budget; ++i)
                same.push_back(m_points[i]);
            const Progress part = progress.part(done / count, static_cast<double>(i + 1) / count);
            try {
                spendOn(same, part.named(nameOf(m_state.strategyOf(*same.front()), same.front()->key)));
            } catch (const Error& error) {
                fail(same, error);
            }
        }
    }

private:
    double secondsSoFar() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - m_begin).count();
    }

    void spendOn(const Planned& points, const Progress& progress) {
        const Savings& savings = *m_context->savings;
        const double share = 1 / (1 + static_cast<double>(countCompensations(points)));
        const Progress spending = progress.part(0, share);
        std::optional<Budget> reached;
        const auto spendMost = [&] {
            try {
                return spend(*m_path, points.front()->key.budget, savings, spending);
            } catch (const BudgetTooLarge& error) {
                reached = error.largest();
                return spend(*m_path, *reached, savings, spending);
            }
        };
        const PruneResult result = spendMost();
        m_state.addWarnings(result.warnings);
        if (result.metric)
            m_state.addWarnings(result.metric->warnings);
        const double seconds = secondsSoFar() - m_elsewhere;
        m_fitted.clear();
        for (const PlannedPoint* point : points)
            try {
                const double done = std::min(share * (1 + static_cast<double>(m_fitted.size())), 1 - share);
                store(*point, result, reached, seconds, progress.part(done, done + share));
            } catch (const Error& error) {
                fail({point}, error);
            }
    }

    /// A mask with its compensation, and the seconds of the fit.
    struct TimedFit {
        FittedMask fitted;
        double seconds = 0;
    };

    /// The result's mask with the compensation of a point. Pruned and recovered points share it.
    const TimedFit& compensated(const PointKey& key, const PruneResult& result, const Progress& progress) {
        const auto known = m_fitted.find(key.compensation);
        if (known != m_fitted.end())
            return known->second;
        const double before = secondsSoFar();
        FittedMask made = fit(key, result, progress);
        return m_fitted.emplace(key.compensation, TimedFit{std::move(made), secondsSoFar() - before}).first->second;
    }

    FittedMask fit(const PointKey& key, const PruneResult& result, const Progress& progress) const {
        const CompensationMode mode = compensationModeOf(key.compensation);
        const SweepInputs& inputs = m_state.inputs;
        const FitText text{inputs.calibration.set.sequences, inputs.batchTokens, inputs.type};
        return fitCompensation(m_state.model, result.mask, mode, text, progress.named("mode " + key.compensation));
    }

    /// Stores a point with its compensation. @param seconds that the strategy took for the mask
    void store(const PlannedPoint& planned, const PruneResult& result, const std::optional<Budget>& reached,
               double seconds, const Progress& progress) {
        const PointKey& key = planned.key;
        const auto& [fitted, fitSeconds] = compensated(key, result, progress);
        const ModelCard& card = m_state.model.card();
        MaskRecord record{fitted.mask,
                          card.name,
                          m_state.model.fingerprint(),
                          {},
                          provenance(key, reached.value_or(key.budget), result)};
        const MeasuredData& data = m_state.inputs.calibration.data;
        if (!fitted.parts.empty())
            noteFit(*record.provenance,
                    {compensationModeOf(key.compensation), data.source, data.allTokens, data.sequenceLength},
                    fitted.parts);
        const Price price = PriceList(card, PriceTerms{.positions = m_request.positions}).price(record.mask);
        CurvePoint point{.key = key, .reached = reached, .mask = m_state.inputs.maskDigest(record.mask)};
        point.removed = removedUnits(price);
        point.parameters = price.parameters.left;
        point.kvBytesPerToken = price.kvBytesPerToken.left;
        point.operationsPerToken = price.operationsPerToken.left;
        point.choosingSeconds = seconds + fitSeconds;
        const std::string& strategy = m_state.strategyOf(planned);
        SweepNews news;
        if (m_state.remember(point.mask, record.mask))
            news.masks.push_back({nameOf(strategy, key), point.mask, std::move(record)});
        m_state.store({{strategy, std::move(point)}}, std::move(news));
    }

    MaskProvenance provenance(const PointKey& key, const Budget& budget, const PruneResult& result) const {
        PruneRequest request = m_request;
        request.budget = budget;
        MaskProvenance made = provenanceOf(request, m_state.request.baseName, result);
        if (made.order.size() > mostOrderedCuts)
            made.order.clear();
        if (key.compensation != name(CompensationMode::own))
            made.options["compensate"] = key.compensation;
        return made;
    }

    void fail(const Planned& points, const Error& error) {
        std::vector<SweepState::NamedPoint> named;
        for (const PlannedPoint* planned : points)
            named.emplace_back(m_state.strategyOf(*planned), CurvePoint{.key = planned->key, .error = error.what()});
        m_state.store(named);
    }

    SweepState& m_state;
    const Planned& m_points;
    PruneRequest m_request; ///< with the largest budget
    PruneInputs m_inputs;
    std::optional<PruneContext> m_context;
    std::unique_ptr<PrunePath> m_path;
    std::chrono::steady_clock::time_point m_begin = std::chrono::steady_clock::now();
    double m_elsewhere = 0;                   ///< seconds that are not this strategy's
    std::map<std::string, TimedFit> m_fitted; ///< of the budget that was spent last, by compensation
};

/// Shares out the paths, those that are expected to take longest first.
void chooseTogether(SweepState& state, MetricPool& metrics, std::vector<Planned> paths, const Progress& progress) {
    const auto passes = [&](const Planned& path) {
        double most = 0;
        for (const PlannedPoint* point : path)
            most = std::max(most, choosingPasses(state.model.spec(), state.request, *point));
        return most;
    };
    std::ranges::stable_sort(paths, std::ranges::greater(), passes);
    constexpr double measuringShare = 0.5; // a guess
    metrics.measureTogether(progress.part(0, measuringShare));
    const auto choose = [&](std::size_t path, const Progress& own) {
        ChosenPath(state, metrics, paths[path]).choose(own);
    };
    state.share(paths.size(), choose, progress.part(measuringShare, 1));
}

} // namespace

void chooseMasks(SweepState& state, const Progress& progress) {
    const std::vector<Planned> paths = pathsOf(state.plan);
    if (paths.empty())
        return;
    MetricPool metrics(state);
    if (state.inputs.ranks.cluster) {
        chooseTogether(state, metrics, paths, progress);
        return;
    }
    const auto count = static_cast<double>(paths.size());
    for (std::size_t i = 0; i < paths.size(); ++i) {
        const auto done = static_cast<double>(i);
        progress.check();
        ChosenPath(state, metrics, paths[i]).choose(progress.part(done / count, (done + 1) / count));
    }
}

} // namespace secateur
