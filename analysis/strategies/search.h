#pragma once

#include "analysis/strategies/prune.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>

namespace secateur {

/// Greedy search on the measured loss with restoration (resources/manual/strategies.md, Search). A step cuts a little
/// more in one layer and fits the kept weights of the projection again. A budget in the strategy's own units is a
/// percentage of the parameters of attention and MLPs. Different kinds of budgets give different masks.
/// @throws as SequenceLosses (variant_walk.h); Error if layers share weights
std::unique_ptr<PrunePath> beginSearch(const PruneContext& context, const Progress& progress);

/// The values of the option `for`: none, and layouts of exports.
inline constexpr std::array<std::string_view, 6> searchLayouts{"none",   "native", "per_layer",
                                                               "decilm", "deci",   "openelm"};

/// The layout whose files a budget in bytes counts: that of the option `for`; otherwise the one of the source's format
/// whose layers may differ. @param format id of the source's format
std::string layoutOfBytes(const StrategyRequest& request, std::string_view format);

/// Approximate cost in forward passes over the text.
double searchPasses(const ModelSpec& spec, const PruneRequest& request);

/// Checks the options. @throws UsageError
void checkSearchOptions(const StrategyRequest& request);

} // namespace secateur
