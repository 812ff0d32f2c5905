#include "analysis/strategies/prune.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/evaluation/sublayer_times.h"
#include "analysis/metrics/measure.h"
#include "analysis/strategies/budget.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// Values that are drawn at random have few ties, and stay as they are.
Matrix scoresOf(const StrategyRequest& strategy, const Matrix& values) {
    return strategy.info->needsSeed ? values : roundedScores(values);
}

/// The units of a strategy's budget as a sentence.
std::string budgetUnits(const StrategyInfo& strategy) {
    constexpr std::string_view share = "per cent";
    const std::string text(strategy.budget);
    const std::size_t begin = text.find(share);
    if (begin == std::string::npos || begin < 2)
        return fmt::format("{} counts {}", strategy.id, text);
    return fmt::format("{} counts {}; with %, {}", strategy.id, text.substr(0, begin - 2), text.substr(begin));
}

/// Calls a function. If it refuses the request's budget, which is a number, the error also names the units that fit.
template <typename Function>
auto namingUnits(const PruneRequest& request, const Function& function) {
    const auto isNamed = [&](const UsageError& error) {
        return request.budget.of != BudgetOf::own || request.budget.isPercentage || !error.hint().empty() ||
               error.subject() != "--budget";
    };
    try {
        return function();
    } catch (const BudgetTooLarge& error) {
        if (isNamed(error))
            throw;
        throw BudgetTooLarge(error.message(), error.largest(), budgetUnits(*request.strategy.info));
    } catch (const UsageError& error) {
        if (isNamed(error))
            throw;
        throw UsageError(error.message(), error.subject(), budgetUnits(*request.strategy.info));
    }
}

/// A sentence about the measured time of a forward pass under a mask, whose estimate the budget has used.
std::string measuredSaving(const PruneContext& context, const PruningMask& mask, const Progress& progress) {
    const ComputeType type = context.inputs.text ? context.inputs.text->type : ComputeType::automatic;
    const Prefill passes = timedPass(context.model, mask, context.base, context.request.positions, type, progress);
    const double before = passes.reference->timing.median();
    const double after = passes.run.timing.median();
    return fmt::format("measured: a forward pass over {} tokens takes {} instead of {} s, {:.1f}% less", passes.tokens,
                       significant(after, 3), significant(before, 3), 100 * (before - after) / before);
}

} // namespace

PruningMask pruneBy(const ModelSpec& spec, const PruneRequest& request, const Matrix& values) {
    const CutOrder order{request.strategy.unit(), request.strategy.highestFirst(), request.budget,
                         request.strategy.flag("per_layer")};
    return cutLowest(spec, scoresOf(request.strategy, values), order, Protection::parse(request.protect, spec),
                     request.base.value_or(PruningMask(spec)));
}

void PruneContext::checkUnits() const {
    if (!checksBudget || request.budget.of != BudgetOf::own)
        return;
    const CutUnit unit = request.strategy.unit();
    cutLowest(spec(), randomValues(spec(), unit, 0), {unit, false, request.budget, request.strategy.flag("per_layer")},
              protection, base);
}

MetricResult PruneContext::measure(const MetricRequest& metric, const Progress& progress) const {
    return inputs.measure ? inputs.measure(metric, progress)
                          : secateur::measure(model, std::array{metric}, progress).front();
}

PruneContext contextOf(const Model& model, const PruneRequest& request, const PruneInputs& inputs,
                       const Progress& progress) {
    const StrategyInfo& strategy = *request.strategy.info;
    if (request.strategy.readsText() && !inputs.text)
        throw Error("needs a calibration text", std::string(strategy.id));
    const ModelSpec& spec = model.spec();
    Protection protection = Protection::parse(request.protect, spec);
    if (request.strategy.option("rules") == "paper") {
        const Protection own = Protection::parse(strategy.paperProtects, spec);
        protection.layers.insert(own.layers.begin(), own.layers.end());
    }
    PruningMask base = request.base.value_or(PruningMask(spec));
    auto savings =
        std::make_shared<const Savings>(savingsOf(model, base, request.positions, inputs, progress.part(0, 0)));
    return {model, request, inputs, std::move(base), std::move(protection), true, std::move(savings)};
}

PruneResult prune(const Model& model, const PruneRequest& request, const PruneInputs& inputs,
                  const Progress& progress) {
    const PruneContext context = contextOf(model, request, inputs, progress);
    PruneResult result = namingUnits(request, [&] {
        const auto path = request.strategy.info->begin(context, progress);
        return spend(*path, request.budget, *context.savings, progress);
    });
    if (request.budget.of == BudgetOf::seconds)
        result.notes.push_back(measuredSaving(context, result.mask, progress.part(1, 1)));
    return result;
}

double calibrationPasses(const ModelSpec& spec, const PruneRequest& request) {
    const StrategyInfo& strategy = *request.strategy.info;
    return strategy.passes ? namingUnits(request, [&] { return strategy.passes(spec, request); }) : 0;
}

namespace {

/// The name of a history's measure for sentences, and its unit.
std::pair<std::string, std::string> wordsFor(const std::string& measure) {
    if (measure == "loss_nats")
        return {"loss", " nats/token"};
    if (measure == "kl_and_loss_nats")
        return {"loss and divergence from the dense model", " nats/token"};
    if (measure == "acc")
        return {"accuracy", ""};
    if (measure == "pooled_half_square")
        return {"half the squared distance of pooled outputs", ""};
    return {measure == "pooled_distance" ? "distance of pooled outputs" : measure, ""};
}

} // namespace

std::string sentence(const PruneHistory& history) {
    std::map<CutUnit, std::uint64_t> counts;
    if (history.steps == 0)
        counts[history.cuts.empty() ? CutUnit::head : history.cuts.front().unit] = 0;
    double value = history.before;
    for (const HistoricCut& cut : history.cuts) {
        if (cut.step <= history.steps)
            ++counts[cut.unit];
        value = cut.step == history.steps ? cut.value : value;
    }
    std::vector<std::string> units;
    for (const auto& [unit, count] : counts)
        units.push_back(counted(count, plural(unit).substr(0, plural(unit).size() - 1)));
    const auto [what, unit] = wordsFor(history.measure);
    std::string text = fmt::format("{} in {}: {} {} -> {}{}", join(units, ", "),
                                   counted(static_cast<std::uint64_t>(history.steps), "step"), what,
                                   significant(history.before), significant(value), unit);
    const int behind = (history.cuts.empty() ? 0 : history.cuts.back().step) - history.steps;
    if (behind > 0)
        text +=
            fmt::format("; {} more, measured and taken back, to {}",
                        counted(static_cast<std::uint64_t>(behind), "step"), significant(history.cuts.back().value));
    return text;
}

MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base) {
    MaskProvenance provenance;
    provenance.strategy = request.strategy.info->id;
    provenance.options = request.strategy.allOptions();
    if (request.protect != "none")
        provenance.options.emplace("protect", request.protect);
    if (request.base && !request.base->keepsAll())
        provenance.options.emplace("base", base);
    provenance.budget = request.budget;
    if (request.strategy.needsSeed())
        provenance.seed = static_cast<std::int64_t>(request.seed);
    provenance.created = utcNow();
    provenance.secateur = SECATEUR_VERSION;
    return provenance;
}

MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base, const PruneResult& result) {
    MaskProvenance provenance = provenanceOf(request, base);
    provenance.history = result.history;
    provenance.order = result.order;
    provenance.notes = result.notes;
    provenance.alphaCurves = result.alphaCurves;
    const std::optional<MeasuredData>& data = result.metric ? result.metric->data : result.data;
    if (!data)
        return provenance;
    provenance.text = data->source;
    provenance.textDigest = result.metric ? result.metric->measurement.dataDigest : result.textDigest;
    provenance.options.emplace("max_tokens", std::to_string(data->allTokens));
    provenance.options.emplace("seq_len", std::to_string(data->sequenceLength));
    if (data->isPart())
        provenance.options.emplace("part", fmt::format("{}/{}", data->part, data->parts));
    return provenance;
}

} // namespace secateur
