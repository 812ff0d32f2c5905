#include "analysis/prune.h"

#include "analysis/cut_lowest.h"
#include "analysis/measure.h"
#include "analysis/text.h"

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

} // namespace secateur
