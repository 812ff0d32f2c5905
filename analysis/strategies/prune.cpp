#include "analysis/strategies/prune.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/metrics/measure.h"
#include "analysis/strategies/cut_lowest.h"

#include <fmt/core.h>

#include <array>
#include <utility>

namespace secateur {

PruningMask pruneBy(const ModelSpec& spec, const PruneRequest& request, const Matrix& values) {
    const CutOrder order{request.strategy.unit(), request.strategy.highestFirst(), request.budget,
                         request.strategy.flag("per_layer")};
    return cutLowest(spec, values, order, Protection::parse(request.protect, spec),
                     request.base.value_or(PruningMask(spec)));
}

PruningMask PruneContext::cutBy(const Matrix& values) const {
    return pruneBy(model.spec(), request, values);
}

void PruneContext::checkBudget() const {
    cutBy(randomValues(model.spec(), request.strategy.unit(), request.seed));
}

MetricResult PruneContext::measureMetric() const {
    const MetricRequest& metric = *request.strategy.metric;
    return inputs.measure ? inputs.measure(metric, progress) : measure(model, std::array{metric}, progress).front();
}

PruneResult runRandom(const PruneContext& context) {
    return {.mask = context.cutBy(
                randomValues(context.model.spec(), context.request.strategy.unit(), context.request.seed))};
}

PruneResult runRanking(const PruneContext& context) {
    context.checkBudget(); // measuring may take long
    MetricResult metric = context.measureMetric();
    PruningMask mask = context.cutBy(metric.values);
    return {.mask = std::move(mask), .metric = std::move(metric)};
}

PruneResult prune(const Model& model, const PruneRequest& request, const PruneInputs& inputs,
                  const Progress& progress) {
    const StrategyInfo& strategy = *request.strategy.info;
    if (strategy.steps && !inputs.text)
        throw Error("needs a calibration text", std::string(strategy.id));
    const ModelSpec& spec = model.spec();
    return strategy.run({model, request, inputs, request.base.value_or(PruningMask(spec)),
                         Protection::parse(request.protect, spec), progress});
}

double calibrationPasses(const ModelSpec& spec, const PruneRequest& request) {
    const StrategyInfo& strategy = *request.strategy.info;
    return strategy.steps ? strategy.passesPerStep * static_cast<double>(strategy.steps(spec, request)) : 0;
}

namespace {

/// Name of a history's measure, and its unit.
std::pair<std::string, std::string> wordsFor(const std::string& measure) {
    if (measure == "loss_nats")
        return {"loss", " nats/token"};
    if (measure == "acc")
        return {"accuracy", ""};
    return {measure == "pooled_distance" ? "distance of pooled outputs" : measure, ""};
}

} // namespace

std::string sentence(const PruneHistory& history) {
    std::uint64_t heads = 0;
    double value = history.before;
    for (const HistoricCut& cut : history.cuts) {
        heads += cut.step <= history.steps ? 1 : 0;
        value = cut.step == history.steps ? cut.value : value;
    }
    const auto [what, unit] = wordsFor(history.measure);
    std::string text = fmt::format("{} in {}: {} {} -> {}{}", counted(heads, "head"),
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
    if (request.strategy.info->needsSeed)
        provenance.seed = static_cast<std::int64_t>(request.seed);
    provenance.created = utcNow();
    provenance.secateur = SECATEUR_VERSION;
    return provenance;
}

MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base, const PruneResult& result) {
    MaskProvenance provenance = provenanceOf(request, base);
    provenance.history = result.history;
    if (!result.data)
        return provenance;
    provenance.text = result.data->source;
    provenance.options.emplace("max_tokens", std::to_string(result.data->allTokens));
    provenance.options.emplace("seq_len", std::to_string(result.data->sequenceLength));
    return provenance;
}

} // namespace secateur
