#pragma once

#include "analysis/strategies/prune.h"

#include <cstddef>
#include <span>

namespace secateur {

/// Greedy-Gnorm and its inverse (resources/manual/strategies.md, Greedy-Gnorm): measures the gradient norm of all kept
/// heads under the mask so far, cuts `per_step` heads from one end of that ranking, records the quality of the model on
/// the same text, and repeats until `stop` is reached. Of equal heads the first is cut; a head without gradient ranks
/// lowest. Residual streams below the first changed layer are reused from step to step; this changes no number.
/// @returns the mask with its history
/// @throws UsageError as cutLowest(), before anything is measured, and as measureGradient(); Error when the text has no
/// sequence; Cancelled, without a result
PruneResult runGreedily(const PruneContext& context);

/// Steps that a budget takes. @throws UsageError as cutLowest()
std::size_t greedySteps(const ModelSpec& spec, const PruneRequest& request);

/// Checks `stop` and `per_step`. @throws UsageError
void checkGreedyOptions(const StrategyRequest& request);

/// The number of steps after which a curve from (0, 0) lies farthest below its chord, with both axes scaled to 1 at the
/// end. All steps where the end is no worse than the beginning; 0 where the curve is never below its chord; of equal
/// distances the first.
/// @param cuts heads cut in all, after each step
/// @param worse loss of quality since the beginning, after each step; positive = worse
std::size_t kneeOf(std::span<const double> cuts, std::span<const double> worse);

} // namespace secateur
