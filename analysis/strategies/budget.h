#pragma once

#include "analysis/base/progress.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/price.h"
#include "analysis/strategies/prune.h"

#include <string>
#include <string_view>

namespace secateur {

/// Parses "8" (units), "12.5%" (a share of the units that the strategy counts), or a share of what the dense model has:
/// "params:20%", "layers:20%", "kv:25%", "flops:15%". @throws UsageError
Budget parseBudget(std::string_view text);
/// The budget as text that parseBudget() reads.
std::string budgetText(const Budget& budget);

/// What masks save of the dense model.
class Savings {
public:
    /// @param base mask whose savings do not count @param positions length of the sequence for which operations are
    /// counted
    Savings(const ModelCard& card, const PruningMask& base, int positions);

    /// The percentage of the dense model's amount that a mask saves beyond the base. @param of not BudgetOf::own
    double percentage(const PruningMask& mask, BudgetOf of) const;

    /// The amount that a mask keeps. @param of not BudgetOf::own
    double left(const PruningMask& mask, BudgetOf of) const;

    const PruningMask& base() const { return m_mask; }

private:
    PriceList m_prices;
    PruningMask m_mask;
    Price m_base; ///< of m_mask
};

/// The result of a strategy for a budget. With a budget of BudgetOf::own, PrunePath::spend(). With the others, the
/// result after the smallest number of steps that saves at least as much.
/// @throws BudgetTooLarge if the strategy cannot save so much; otherwise as PrunePath::after()
PruneResult spend(PrunePath& path, const Budget& budget, const Savings& savings, const Progress& progress);

} // namespace secateur
