#pragma once

#include "analysis/strategies/prune.h"

#include <memory>

namespace secateur {

/// HARP (resources/manual/strategies.md, HARP): bypasses queries and keys of some attention sublayers, and chooses the
/// factor alpha of each by the loss on a text that no other step reads. A result of a search has its curves.
/// @throws BudgetTooLarge before anything is measured; UsageError for models without a loss, if alpha is searched
std::unique_ptr<PrunePath> beginHarp(const PruneContext& context, const Progress& progress);

/// Cost in forward passes over the calibration text. @throws BudgetTooLarge
double harpPasses(const ModelSpec& spec, const PruneRequest& request);

/// Whether the options make the strategy read a text.
bool harpReadsText(const StrategyRequest& request);

/// Checks the options. @throws UsageError
void checkHarpOptions(const StrategyRequest& request);

} // namespace secateur
