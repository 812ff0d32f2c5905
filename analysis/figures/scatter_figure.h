#pragma once

#include "analysis/figures/figure.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/base/rank_correlation.h"

namespace secateur {

/// Two results of one model, unit by unit: of the finer of their scopes, in which a KV group's or a layer's value comes
/// once for each unit that it is of.
struct PairedResults {
    Scope scope = Scope::head;
    Matrix x; ///< [layers, units]; NaN = no such unit, or no value
    Matrix y;
};

/// @throws UsageError for heads and neurons, of which neither lies in the other
PairedResults paired(const ModelSpec& spec, const MetricResult& x, const MetricResult& y);

/// How a scatter is drawn.
struct ScatterLook {
    bool logarithmicX = false;
    bool logarithmicY = false;
    const PruningMask* mask = nullptr;            ///< what it cuts is a cross; null = nothing is
    const RankCorrelation* correlation = nullptr; ///< where it is known already
    std::size_t mostPoints = 0;                   ///< thinned evenly to about as many; 0 = all
};

/// One metric against another, coloured by layer, with their rank correlation. @throws UsageError as paired() does
Figure metricScatter(const ModelCard& model, const MetricResult& x, const MetricResult& y, const ScatterLook& look);

/// How much later one metric cuts what another cuts early: the rank by y less the rank by x as a share of all ranks,
/// -1 to 1, layers x heads (or KV groups, or one column). Ranks go in the order in which each metric cuts; equal values
/// share theirs. @throws UsageError as paired() does, and for neurons, which are too many for a map
Figure rankDifferenceMap(const ModelCard& model, const MetricResult& x, const MetricResult& y);

/// "Spearman 0.83 · Kendall 0.65 · 270 heads"
std::string correlationText(const RankCorrelation& correlation, Scope scope);

} // namespace secateur
