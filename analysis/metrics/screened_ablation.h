#pragma once

#include "analysis/metrics/ablation.h"

#include <cstddef>
#include <span>
#include <vector>

namespace secateur {

/// Marks the estimates that may or may not belong to the N lowest values: those whose interval of two standard errors
/// reaches the cut-off, the middle between the N-th and the next value. None if there are at most N values.
/// @param values NaN = no such cell @param errors standard errors, one for each value; 0 or NaN = exact
/// @param lowest N
std::vector<bool> reachesCutOff(std::span<const double> values, std::span<const double> errors, std::size_t lowest);

/// The cost of all predictions in forward passes through all layers: they take two forward and five backward passes,
/// with the LM head.
inline constexpr double screeningPasses = 11;

/// Ranks units when only the N lowest matter (resources/manual/metrics.md, Screening). The effects of all units are
/// predicted from gradients (gateEffects()). Some units, spread evenly over the predicted ranks, are ablated exactly;
/// they give the predictions a common factor and standard errors. Then units that reachesCutOff() marks are ablated,
/// the least certain first, until none is left or the cost reaches the option `exact`, a share of the cost of all
/// ablations. A warning counts the units that remain marked.
/// @param request its option `screen` is N, above 0 @param run exact values in its memory are not measured again
/// @throws as measureAblation()
MetricResult screenedAblation(const Model& model, const AblationRun& run, const MetricRequest& request,
                              const Progress& progress, const LayerSink& layerDone = {});

} // namespace secateur
