#pragma once

#include "analysis/base/statistics.h"
#include "analysis/figures/figure.h"
#include "analysis/masks/pruning_mask.h"

namespace secateur {

/// Two results of one model as pairs of values. There is a pair for each unit of the finer scope. The value of a KV
/// group or a layer is repeated for each unit in it.
struct PairedResults {
    Scope scope = Scope::head;
    Matrix x; ///< [layers, units]; NaN = no such unit, or no value
    Matrix y;
};

/// Pairs two results. @throws UsageError for a metric of heads or KV groups with one of neurons, because neither unit
/// contains the other
PairedResults paired(const ModelSpec& spec, const MetricResult& x, const MetricResult& y);

/// Options of a scatter.
struct ScatterLook {
    ScaleKind scaleX = ScaleKind::linear; ///< linear, logarithmic, rank or automatic
    ScaleKind scaleY = ScaleKind::linear;
    const PruningMask* mask = nullptr;            ///< units that it cuts are drawn as crosses; null = none
    const RankCorrelation* correlation = nullptr; ///< of the two results; null = computed here
    std::size_t mostPoints = 0;                   ///< more points are thinned evenly to about this number; 0 = draw all
};

/// Scatter of one metric against another, coloured by layer, with their rank correlation. @throws as paired()
Figure metricScatter(const ModelCard& model, const MetricResult& x, const MetricResult& y, const ScatterLook& look);

/// Heat map of (rank by y - rank by x) / (n - 1) for n ranks, from -1 to 1: layers x heads, layers x KV groups, or one
/// column. Rank 1 is the unit that a metric prunes first. Equal values get the mean of their ranks.
/// @throws as paired(); also UsageError for neurons, which are too many for a heat map
Figure rankDifferenceMap(const ModelCard& model, const MetricResult& x, const MetricResult& y);

/// A correlation as text: "Spearman 0.83 · Kendall 0.65 · 270 heads".
std::string correlationText(const RankCorrelation& correlation, Scope scope);

} // namespace secateur
