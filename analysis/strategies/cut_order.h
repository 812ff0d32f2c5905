#pragma once

#include "analysis/base/matrix.h"
#include "analysis/base/usage_error.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/protection.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_spec.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// A budget that a strategy cannot reach.
class BudgetTooLarge : public UsageError {
public:
    BudgetTooLarge(const std::string& message, const Budget& largest, const std::string& hint = {})
        : UsageError(message, "--budget", hint)
        , m_largest(largest) {}
    /// The largest budget of the same kind that can be reached.
    const Budget& largest() const { return m_largest; }

private:
    Budget m_largest;
};

/// Rules for choosing the units to cut by their values.
struct CutOrder {
    CutUnit unit = CutUnit::head;
    bool highestFirst = false;
    Budget budget;         ///< a percentage is one of all units, including protected and cut ones, and is rounded down
    bool perLayer = false; ///< whether the budget applies to each layer that has units to cut, not to the model
};

/// Adds cuts of the units with the lowest (or highest) values to a mask. Of equal values, the unit of the lowest layer,
/// and in it the lowest index, is cut first. Units that are protected, already cut or without a value (NaN) cannot be
/// cut. The budget counts new cuts only. Layers that share their weights count once, with the mean of their values. It
/// needs no model, and is fast enough to follow a slider.
/// @param values [layers, units of a layer]; one column for sublayers and blocks
/// @throws UsageError if the budget is a count that is negative or not whole, or a percentage outside 0 to 100;
/// BudgetTooLarge if it is larger than possible (the message states the largest possible budget); Error if `values` or `base` do not match the
/// structure of `spec`
PruningMask cutLowest(const ModelSpec& spec, const Matrix& values, const CutOrder& order, const Protection& protection,
                      const PruningMask& base);

/// The units that cutLowest() cuts, first cut first. The score is the unit's value. @throws as cutLowest()
std::vector<OrderedCut> lowestUnits(const ModelSpec& spec, const Matrix& values, const CutOrder& order,
                                    const Protection& protection, const PruningMask& base);

/// Checks the amount of a budget in units. @throws UsageError for a count that is negative or not whole, or a percentage
/// outside 0 to 100
void checkUnitBudget(const Budget& budget);

/// Number of units that can be cut: not protected, not cut yet, and with a value.
std::size_t cuttable(const ModelSpec& spec, const Matrix& values, CutUnit unit, const Protection& protection,
                     const PruningMask& base);

/// The mask in which these units are cut too.
PruningMask withCuts(const ModelSpec& spec, std::span<const OrderedCut> cuts, const PruningMask& base);

/// The values rounded to 20 binary digits, a relative error of at most 1e-6. Values that differ by rounding errors of
/// their computation become equal, so that ties are resolved by position on every machine.
Matrix roundedScores(Matrix values);

/// Adds cuts of all units whose value is at most `bound`; at least `bound` if the highest are cut first. The budget of
/// `order` is ignored.
PruningMask cutWithin(const ModelSpec& spec, const Matrix& values, const CutOrder& order, double bound,
                      const Protection& protection, const PruningMask& base);

/// Number of units in a budget of BudgetOf::own. A percentage is rounded down.
/// @param units their name in the plural, for messages @param all number of units of which a percentage is taken
/// @param most number of units that can be cut
/// @throws UsageError as cutLowest(); BudgetTooLarge
std::size_t unitsFor(const Budget& budget, std::string_view units, std::size_t all, std::size_t most);

/// Number of units that `after` cuts and `before` keeps. Layers that share their weights count once.
std::size_t newlyCut(const ModelSpec& spec, CutUnit unit, const PruningMask& before, const PruningMask& after);

/// Number of units of a kind in the model. Layers that share their weights count once.
std::size_t unitCount(const ModelSpec& spec, CutUnit unit);

/// Values drawn uniformly from [0, 1). A seed gives the same values with any standard library. Cutting the units with
/// the lowest values cuts at random, and the cuts of a larger budget include those of a smaller one.
Matrix randomValues(const ModelSpec& spec, CutUnit unit, std::uint64_t seed);

/// The unit that a metric ranks (MetricInfo::ranks). @throws UsageError if the metric ranks none
CutUnit unitOf(const MetricInfo& metric);

} // namespace secateur
