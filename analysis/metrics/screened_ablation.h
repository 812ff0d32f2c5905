#pragma once

#include "analysis/metrics/ablation.h"

#include <cstddef>
#include <span>
#include <vector>

namespace secateur {

/// Which of the estimates may belong to the N lowest values or not: those whose interval of two standard errors reaches
/// the middle between the N-th and the next value. None when there are no more than N values.
/// @param errors standard errors, one for each value; 0 or NaN = exact @param values NaN = no such cell
std::vector<bool> reachesCutOff(std::span<const double> values, std::span<const double> errors, std::size_t lowest);

/// The cost of the predictions in plain passes through all layers: two forward and five backward, with the LM head.
inline constexpr double screeningPasses = 11;

/// A ranking of which the N lowest units matter (resources/manual/metrics.md, Screening). All units are predicted from
/// gradients (gateEffects()). Some, spread evenly over the ranks, are ablated exactly, which gives the prediction a
/// factor and a spread. Then those whose interval reaches the cut-off are ablated, the most doubtful first, until none
/// is left or the option `exact`, a share of the cost of all ablations, is spent. Predicted values have standard
/// errors, and a warning counts those that are in doubt.
/// @param request with its option `screen` above 0 @param run exact values in its memory are not measured again
/// @throws as measureAblation()
MetricResult screenedAblation(const Model& model, const AblationRun& run, const MetricRequest& request,
                              const Progress& progress, const LayerSink& layerDone = {});

} // namespace secateur
