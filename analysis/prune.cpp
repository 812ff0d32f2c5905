#include "analysis/prune.h"

#include "analysis/cut_lowest.h"
#include "analysis/measure.h"
#include "analysis/text.h"

#include <array>

namespace secateur {

PruningMask pruneBy(const ModelSpec& spec, const PruneRequest& request, const Matrix& values) {
    const CutOrder order{request.strategy.unit(), request.strategy.highestFirst(), request.budget,
                         request.strategy.flag("per_layer")};
    return cutLowest(spec, values, order, Protection::parse(request.protect, spec),
                     request.base.value_or(PruningMask(spec)));
}

PruneResult prune(const Model& model, const PruneRequest& request, const Progress& progress) {
    const ModelSpec& spec = model.spec();
    const CutUnit unit = request.strategy.unit();
    PruneResult result;
    // What cannot be met whatever the values is refused before they are measured.
    result.mask = pruneBy(spec, request, randomValues(spec, unit, request.seed));
    if (request.strategy.info->isRandom)
        return result;
    result.metric = measure(model, std::array{*request.strategy.metric}, progress).front();
    result.mask = pruneBy(spec, request, result.metric->values);
    return result;
}

MaskProvenance provenanceOf(const PruneRequest& request) {
    MaskProvenance provenance;
    provenance.strategy = request.strategy.info->id;
    provenance.options = request.strategy.allOptions();
    if (request.protect != "none")
        provenance.options.emplace("protect", request.protect);
    provenance.budget = request.budget;
    if (request.strategy.info->isRandom)
        provenance.seed = static_cast<std::int64_t>(request.seed);
    provenance.created = utcNow();
    provenance.secateur = SECATEUR_VERSION;
    return provenance;
}

} // namespace secateur
