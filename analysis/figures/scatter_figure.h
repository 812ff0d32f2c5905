#pragma once

#include "analysis/base/statistics.h"
#include "analysis/figures/figure.h"
#include "analysis/masks/pruning_mask.h"

namespace secateur {

/// Two results of one model, unit by unit, in the finer of their scopes: the value of a KV group or layer is repeated
/// for each of its units.
struct PairedResults {
    Scope scope = Scope::head;
    Matrix x; ///< [layers, units]; NaN = no such unit, or no value
    Matrix y;
};

/// @throws UsageError for heads with neurons: neither contains the other
PairedResults paired(const ModelSpec& spec, const MetricResult& x, const MetricResult& y);

/// Options of a scatter.
struct ScatterLook {
    bool logarithmicX = false;
    bool logarithmicY = false;
    const PruningMask* mask = nullptr;            ///< its cut units are crosses; null = none
    const RankCorrelation* correlation = nullptr; ///< if it is known already, else null
    std::size_t mostPoints = 0;                   ///< larger sets are thinned evenly to about this number; 0 = all
};

/// One metric against another, coloured by layer, with their rank correlation. @throws UsageError as paired() does
Figure metricScatter(const ModelCard& model, const MetricResult& x, const MetricResult& y, const ScatterLook& look);

/// Heat map of (rank by y - rank by x) / number of ranks, from -1 to 1, layers x heads (or KV groups, or one column).
/// Rank 1 is the unit that a metric prunes first; equal values share their mean rank.
/// @throws UsageError as paired() does, and for neurons, which are too many for a heat map
Figure rankDifferenceMap(const ModelCard& model, const MetricResult& x, const MetricResult& y);

/// "Spearman 0.83 · Kendall 0.65 · 270 heads"
std::string correlationText(const RankCorrelation& correlation, Scope scope);

} // namespace secateur
