#pragma once

#include "analysis/strategies/ratio_path.h"

#include <memory>

namespace secateur {

// AMP (resources/manual/strategies.md, AMP): the same numbers of heads and neurons in each layer, those with the
// smallest activations on the dense model. At least one head and one neuron of each layer stay.

/// The numbers of cuts for a layer. With rho = ratio: heads p = round(rho H), at most H - 1; neurons
/// round(rho I + (rho H - p) w), at most I - 1, where w is 1 as in the authors' code, or, if `isExact`,
/// neuronsPerHead(). Without heads among the components, round(rho I) neurons. Halves are rounded to even numbers. With
/// KV groups of several heads, the number of heads may be rounded to whole groups (LayerCounts::choice), and p then
/// is their number of heads if `isExact`.
LayerCounts ampCounts(const ModelSpec& spec, const LayerSpec& layer, double ratio, CutComponents components,
                      bool isExact);

/// The ratio for a budget: the budget's parameters divided by the parameters of the components in the layers that are
/// not protected. A number is one of layer equivalents: mean parameters of a layer. A percentage is one of all
/// parameters of the model. @throws UsageError if it is negative, or a percentage above 100
double ampRatio(const ModelCard& card, const Budget& budget, CutComponents components, const Protection& protection);

/// @throws BudgetTooLarge before anything is measured; otherwise as PruneContext::measure()
std::unique_ptr<PrunePath> beginAmp(const PruneContext& context, const Progress& progress);

/// Checks the options `components`, `order` and `rounding`. @throws UsageError
void checkAmpOptions(const StrategyRequest& request);
/// Whether order=random.
bool drawsAmpOrder(const StrategyRequest& request);

} // namespace secateur
