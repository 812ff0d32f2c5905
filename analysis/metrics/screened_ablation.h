#pragma once

#include "analysis/metrics/ablation.h"

#include <cstddef>
#include <span>
#include <vector>

namespace secateur {

/// Which estimates leave in doubt what the so many lowest values are: those whose interval of two standard errors
/// reaches the middle between the last of these and the next value. None when there are no more values than that.
/// @param errors standard errors, one for each value; 0 or NaN = exact @param values NaN = no such cell
std::vector<bool> reachesCutOff(std::span<const double> values, std::span<const double> errors, std::size_t lowest);

/// What predictions take, in plain passes through all layers: one up, one more and five back, with read-outs.
inline constexpr double screeningPasses = 11;

/// A ranking in which the so many lowest parts matter: all parts are predicted from gradients (gateEffects()); some,
/// spread evenly over the ranks, are ablated exactly, which gives the prediction its factor and its spread; then those
/// whose interval reaches the cut-off, the most doubtful first, until there are none or the option `exact`, a share of
/// the cost of ablating all, is spent. What stays predicted has a standard error, and a warning says how many of these
/// are in doubt.
/// @param request with its option `screen` above 0 @param run what its memory knows exactly is not measured again
/// @throws as measureAblation()
MetricResult screenedAblation(const Model& model, const AblationRun& run, const MetricRequest& request,
                              const Progress& progress, const LayerSink& layerDone = {});

} // namespace secateur
