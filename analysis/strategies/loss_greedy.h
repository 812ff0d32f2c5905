#pragma once

#include "analysis/strategies/prune.h"

#include <memory>

namespace secateur {

/// Greedy search on the measured loss (resources/manual/strategies.md, Greedy on the loss). Each step removes the unit
/// whose removal leaves the lowest loss. A result has the history of its steps.
/// @throws as SequenceLosses (variant_walk.h): the model must have a loss on the text
std::unique_ptr<PrunePath> beginLossGreedy(const PruneContext& context, const Progress& progress);

/// Cost in forward passes over the text, without what the prediction saves by chance. @throws BudgetTooLarge
double lossGreedyPasses(const ModelSpec& spec, const PruneRequest& request);

/// Checks the option `units`. @throws UsageError
void checkLossGreedyOptions(const StrategyRequest& request);

} // namespace secateur
