#pragma once

#include "analysis/strategies/prune.h"

#include <memory>

namespace secateur {

// Mag-SP and Wanda-SP, the structured forms of magnitude pruning and of Wanda (An et al. 2024, FLAP's repository;
// resources/manual/strategies.md). In each layer, the same share of heads and of neurons is cut, those with the lowest
// scores first. A budget in per cent is this share; a number is that of heads in the widest layer (of neurons with
// components=mlp). Single heads of a KV group can be cut: their columns of the output projection.

/// Mag-SP: scores from weights.
/// @throws BudgetTooLarge before anything is measured
std::unique_ptr<PrunePath> beginMagnitude(const PruneContext& context, const Progress& progress);

/// Wanda-SP: the scores of a layer come from the inputs that it has behind the cuts in the layers below. Layers that
/// share their weights, and layers between them, are scored together before any of them is cut. Each result takes two
/// passes over the text.
/// @throws BudgetTooLarge before anything is measured; Error if the text has no sequence, or gives numbers that are not
/// finite
std::unique_ptr<PrunePath> beginWanda(const PruneContext& context, const Progress& progress);

/// Cost of Wanda-SP in forward passes.
double wandaPasses(const ModelSpec& spec, const PruneRequest& request);

/// Checks the option `components`, also against `rules`. @throws UsageError
void checkStructuredOptions(const StrategyRequest& request);

} // namespace secateur
