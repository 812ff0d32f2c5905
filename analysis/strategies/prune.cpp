#include "analysis/strategies/prune.h"

#include "analysis/strategies/cut_lowest.h"
#include "analysis/base/error.h"
#include "analysis/metrics/measure.h"
#include "analysis/base/text.h"

#include <fmt/core.h>

#include <array>

namespace secateur {

PruningMask pruneBy(const ModelSpec& spec, const PruneRequest& request, const Matrix& values) {
    const CutOrder order{request.strategy.unit(), request.strategy.highestFirst(), request.budget,
                         request.strategy.flag("per_layer")};
    return cutLowest(spec, values, order, Protection::parse(request.protect, spec),
                     request.base.value_or(PruningMask(spec)));
}

PruneResult prune(const Model& model, const PruneRequest& request, const Progress& progress,
                  const MeasureDoor& measureOn) {
    const ModelSpec& spec = model.spec();
    const CutUnit unit = request.strategy.unit();
    if (request.strategy.info->measuresAgain)
        throw Error("measures again after each cut, and has to be given a text",
                    std::string(request.strategy.info->id));
    PruneResult result;
    // What cannot be met whatever the values is refused before they are measured.
    result.mask = pruneBy(spec, request, randomValues(spec, unit, request.seed));
    if (request.strategy.info->isRandom)
        return result;
    const MetricRequest& metric = *request.strategy.metric;
    result.metric =
        measureOn ? measureOn(model, metric, progress) : measure(model, std::array{metric}, progress).front();
    result.mask = pruneBy(spec, request, result.metric->values);
    return result;
}

StrategyRequest byMetric(const MetricRequest& metric, bool highestFirst, bool perLayer) {
    StrategyRequest request = parseStrategyRequest(fmt::format("by_metric:metric={}", metric.info->id));
    request.metric = metric;
    if (perLayer)
        request.options["per_layer"] = "true";
    if (highestFirst != request.highestFirst())
        request.options["reversed"] = "true";
    return request;
}

namespace {

/// What a history's measure is called, and its unit.
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
    if (request.strategy.info->isRandom)
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
