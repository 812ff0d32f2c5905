#pragma once

#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/base/matrix.h"
#include "analysis/metrics/metric.h"
#include "analysis/masks/protection.h"

#include <cstddef>
#include <cstdint>

namespace secateur {

/// What to cut by its values. Free of models, and quick enough to follow a slider.
struct CutOrder {
    CutUnit unit = CutUnit::head;
    bool highestFirst = false;
    Budget budget; ///< units, or a share of all that the model has, protected and cut ones included, rounded down
    bool perLayer = false; ///< so many, or such a share, in each layer that has any left to cut
};

/// Cuts, on top of a mask, the units of lowest (or highest) value; of equal ones those of the lowest layer and index.
/// Neither protected units nor those without a value (NaN) nor those cut already are chosen; only what is newly cut
/// counts against the budget. Layers that share their weights are one: their value is the mean of theirs.
/// @param values rows = layers, columns = units of a layer; one column for sublayers and blocks
/// @throws UsageError when the budget is no whole number of units, no share from 0 to 100 %, or more than there is to
/// cut: names the largest that can be met. Error when the values or the mask are of another structure
PruningMask cutLowest(const ModelSpec& spec, const Matrix& values, const CutOrder& order, const Protection& protection,
                      const PruningMask& base);

/// Everything whose value lies below a bound (or above, when the highest go first), the bound itself included.
PruningMask cutWithin(const ModelSpec& spec, const Matrix& values, const CutOrder& order, double bound,
                      const Protection& protection, const PruningMask& base);

/// Units that one mask cuts and another does not, those of layers that share their weights once.
std::size_t newlyCut(const ModelSpec& spec, CutUnit unit, const PruningMask& before, const PruningMask& after);

/// Units that the model has, those of layers that share their weights once.
std::size_t unitCount(const ModelSpec& spec, CutUnit unit);

/// Values drawn evenly from [0, 1), the same for the same seed whatever the standard library: cutting the lowest of
/// them cuts at random, and a larger budget cuts all that a smaller one does.
Matrix randomValues(const ModelSpec& spec, CutUnit unit, std::uint64_t seed);

/// The unit that a metric ranks. @throws UsageError when it ranks none
CutUnit unitOf(const MetricInfo& metric);

} // namespace secateur
