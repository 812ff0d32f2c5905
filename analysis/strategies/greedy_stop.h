#pragma once

#include "analysis/strategies/strategy.h"

#include <cstddef>
#include <span>
#include <string_view>

namespace secateur {

/// Where a strategy ends that measures again after each step (methods.md 4.2).
struct GreedyStop {
    enum class At {
        budget,
        floor, ///< before it is more than `worse` worse than without its cuts
        knee,  ///< it runs to the budget, and the mask is that of the knee of the curve
    };
    At at = At::budget;
    double worse = 0;
};

/// "budget", "floor:X", "knee". @throws UsageError
GreedyStop greedyStopOf(std::string_view option);
/// How many heads go in a step. @throws UsageError
int perStepOf(const StrategyRequest& request);

/// Of a curve that begins at 0 cuts and 0 worse, after how many steps it lies farthest below its chord: there the cuts
/// so far cost least for their number, against what those that follow cost. All steps where the end is no worse than
/// the beginning, none where the curve is never below its chord; of equal ones the first.
/// @param cuts heads in all, behind each step @param worse than before the first of them; positive = worse
std::size_t kneeOf(std::span<const double> cuts, std::span<const double> worse);

} // namespace secateur
