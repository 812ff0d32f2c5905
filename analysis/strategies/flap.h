#pragma once

#include "analysis/strategies/prune.h"

#include <cstddef>
#include <memory>
#include <span>

namespace secateur {

/// FLAP (An et al. 2024; resources/manual/strategies.md, FLAP): heads and neurons of all layers in one ranking by the
/// variance of their inputs times the squared norm of their columns, standardised in each layer. The means of the cut
/// inputs go through the cut columns into the biases of the layer (LayerMask::compensation). Sublayers that lose all
/// their units get no bias. A budget counts weights: 1 for a neuron, neuronsPerHead() for a head. A step is the next
/// unit of the ranking.
/// @throws BudgetTooLarge before anything is measured; Error if the text has no sequence
std::unique_ptr<PrunePath> beginFlap(const PruneContext& context, const Progress& progress);

/// Cost of FLAP in forward passes.
double flapPasses(const ModelSpec& spec, const PruneRequest& request);

/// Checks the option `components`. @throws UsageError
void checkFlapOptions(const StrategyRequest& request);

/// Number of units that FLAP's threshold cuts. The threshold is the score of the unit at which the total weight of the
/// units with higher scores and its own is closest to what the budget keeps; units with this score are cut too.
/// @param weights of the units that can be cut, in the order in which they are cut @param removed weight of the budget
std::size_t cutsAtThreshold(std::span<const double> weights, double removed);

} // namespace secateur
