#pragma once

#include "analysis/base/progress.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/price.h"
#include "analysis/strategies/prune.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace secateur {

/// Parses "8" (units), "12.5%" (a share of the units that the strategy counts), or a share of what the dense model has:
/// "params:20%", "layers:20%", "kv:25%", "flops:15%", "bytes:20%", "seconds:15%". @throws UsageError
Budget parseBudget(std::string_view text);
/// The budget as text that parseBudget() reads.
std::string budgetText(const Budget& budget);

/// Amounts of the model under a mask that its card does not tell. Empty = not known.
struct MeasuredAmounts {
    std::function<double(const PruningMask& mask)> fileBytes = {}; ///< bytes of the weight files of an export
    std::function<double(const PruningMask& mask)> seconds = {};   ///< seconds of a forward pass
};

/// What masks save of the dense model.
class Savings {
public:
    /// @param base mask whose savings do not count @param positions length of the sequence for which operations are
    /// counted
    Savings(const ModelCard& card, const PruningMask& base, int positions, MeasuredAmounts measured = {});

    /// The percentage of the dense model's amount that a mask saves beyond the base. @param of not BudgetOf::own
    /// @throws Error if the amount is not known; otherwise as MeasuredAmounts
    double percentage(const PruningMask& mask, BudgetOf of) const;

    /// The amount that a mask keeps. @param of not BudgetOf::own
    double left(const PruningMask& mask, BudgetOf of) const;

    const PruningMask& base() const { return m_mask; }

private:
    double kept(const PruningMask& mask, BudgetOf of) const;

    PriceList m_prices;
    PruningMask m_mask;
    MeasuredAmounts m_measured;
    mutable std::map<BudgetOf, std::pair<double, double>> m_known; ///< amounts of the dense model and of m_mask
};

/// The savings that a request's budget counts. Sublayers are timed when a budget in seconds first needs their times.
/// The model must outlive the result.
Savings savingsOf(const Model& model, const PruningMask& base, int positions, const PruneInputs& inputs,
                  const Progress& progress);

/// The result of a strategy for a budget. With a budget of BudgetOf::own, PrunePath::spend(). With the others, the
/// result after the smallest number of steps that saves at least as much.
/// @throws BudgetTooLarge if the strategy cannot save so much; otherwise as PrunePath::after()
PruneResult spend(PrunePath& path, const Budget& budget, const Savings& savings, const Progress& progress);

} // namespace secateur
