#pragma once

#include "analysis/strategies/prune.h"

#include <memory>

namespace secateur {

/// Second-order prices (resources/manual/strategies.md, Second-order prices). Units are cut by the rise of the loss
/// that gradients predict, divided by what they save of the budget. The gradients are taken again after each part of
/// the budget. Each budget is a run of its own.
/// @throws as SequenceLosses (variant_walk.h): the model must have a loss on the text
std::unique_ptr<PrunePath> beginSecondOrder(const PruneContext& context, const Progress& progress);

/// Cost in forward passes over the text. @throws BudgetTooLarge
double secondOrderPasses(const ModelSpec& spec, const PruneRequest& request);

/// Checks the options. @throws UsageError
void checkSecondOrderOptions(const StrategyRequest& request);

} // namespace secateur
