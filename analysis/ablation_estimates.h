#pragma once

#include "analysis/ablation.h"

#include <span>
#include <vector>

namespace secateur {

/// What taking each part away is expected to cost, from gradients of its gate ξ_u: F_uu / 2 − g_u, the second order of
/// the loss with Fisher information in place of curvature (methods.md 4.5). It ranks well and is known up to a factor
/// and a spread, which exact values tell.
/// @param passes backward passes with random signs that F is estimated from; of classifiers none is needed
/// @returns for each request, shaped as its values @throws as measureAblation()
std::vector<Matrix> expectedRises(const Model& model, const AblationRun& run, std::span<const MetricRequest> requests,
                                  int passes, const Progress& progress);

} // namespace secateur
