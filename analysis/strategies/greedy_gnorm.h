#pragma once

#include "analysis/strategies/prune.h"

#include <cstddef>
#include <span>

namespace secateur {

/// Greedy-Gnorm and its inverse (resources/manual/strategies.md, Greedy-Gnorm). Each step measures the gradient norms
/// of all kept heads under the mask so far, cuts `per_step` heads from one end of the ranking, and records the quality
/// of the model on the same text; steps repeat until `stop` is reached. Of heads with equal norms the first is cut; a
/// head without gradient ranks lowest. Residual streams below the first changed layer are reused from step to step,
/// which does not change results.
/// @returns the mask with its history
/// @throws UsageError as cutLowest(), before anything is measured, and as measureGradient(); Error if the text has no
/// sequence; Cancelled, also after some steps
PruneResult runGreedily(const PruneContext& context);

/// Number of steps for the request's budget. @throws UsageError as cutLowest()
std::size_t greedySteps(const ModelSpec& spec, const PruneRequest& request);

/// Checks the options `stop` and `per_step`. @throws UsageError
void checkGreedyOptions(const StrategyRequest& request);

/// The knee of a curve of quality lost against heads cut: the number of steps after which the curve lies farthest below
/// the straight line from (0, 0) to its end; of equal distances the first. 0 if it is never below that line; all steps
/// if quality at the end is no worse than at the beginning.
/// @param cuts total number of heads cut after each step
/// @param worse quality lost since the beginning, after each step; positive = worse
std::size_t kneeOf(std::span<const double> cuts, std::span<const double> worse);

} // namespace secateur
