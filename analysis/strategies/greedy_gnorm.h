#pragma once

#include "analysis/strategies/prune.h"

#include <cstddef>
#include <memory>
#include <span>

namespace secateur {

/// Greedy-Gnorm and its inverse (resources/manual/strategies.md, Greedy-Gnorm). Each step measures the gradient norms
/// of all kept heads under the mask so far, cuts `per_step` heads from one end of the ranking, and records the quality
/// of the model on the same text. Steps repeat until the rule `stop` ends them. Of heads with equal norms, the first is
/// cut. A head without gradient has the lowest rank. Residual streams below the first changed layer are reused in the
/// next step, which does not change results.
/// A result has the history of its steps.
/// @throws BudgetTooLarge before anything is measured, and as measureGradient(); Error if the text has no sequence
std::unique_ptr<PrunePath> beginGreedy(const PruneContext& context, const Progress& progress);

/// Number of steps for the request's budget; at most this number for a budget in per cent of the model.
/// @throws BudgetTooLarge
std::size_t greedySteps(const ModelSpec& spec, const PruneRequest& request);
/// Cost of these steps in forward passes over the text. @throws BudgetTooLarge
double greedyPasses(const ModelSpec& spec, const PruneRequest& request);

/// Checks the options `stop` and `per_step`. @throws UsageError
void checkGreedyOptions(const StrategyRequest& request);

/// The knee of a curve of quality loss against the number of cut heads. It is the number of steps after which the curve
/// is farthest below the straight line from (0, 0) to its end; of equal distances, the first. It is 0 if the curve is
/// never below this line, and the number of all steps if the quality at the end is no worse than at the beginning.
/// @param cuts total number of heads that are cut after each step
/// @param worse decrease of the quality since the beginning after each step; positive = worse
std::size_t kneeOf(std::span<const double> cuts, std::span<const double> worse);

} // namespace secateur
