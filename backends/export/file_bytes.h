#pragma once

#include "analysis/strategies/strategy.h"
#include "backends/export/export_targets.h"

#include <functional>

namespace secateur {

/// The bytes of the weight files of an export under a mask, at the source's types, for budgets in bytes. The layout is
/// that of the strategy's option `for`; without one, that of the source's format whose layers may differ. The function
/// throws as exportSize(). The model must outlive it.
std::function<double(const PruningMask& mask)> fileBytesOf(const Model& model, const StrategyRequest& strategy);

} // namespace secateur
