#pragma once

#include "analysis/base/matrix.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/masks/protection.h"
#include "analysis/metrics/metric.h"

#include <cstddef>
#include <cstdint>

namespace secateur {

/// Which units to cut by their values. Needs no model, and is fast enough to follow a slider.
struct CutOrder {
    CutUnit unit = CutUnit::head;
    bool highestFirst = false;
    Budget budget;         ///< a share counts all units of the model, protected and cut ones too, and is rounded down
    bool perLayer = false; ///< apply the budget to each layer that has a unit that can be cut
};

/// Extends a mask by the units of lowest (or highest) value; of equal values the lowest layer, then the lowest index is
/// cut first. Units that are protected, already cut or without a value (NaN) cannot be cut, and only new cuts count
/// against the budget. Layers that share their weights count once, with the mean of their values.
/// @param values rows = layers, columns = units of a layer; one column for sublayers and blocks
/// @throws UsageError when the budget is no whole number of units, no share from 0 to 100 %, or larger than possible
/// (names the largest possible one). Error when the values or the mask have another structure
PruningMask cutLowest(const ModelSpec& spec, const Matrix& values, const CutOrder& order, const Protection& protection,
                      const PruningMask& base);

/// Extends a mask by all units with values up to a bound (from a bound on, when the highest are cut first), inclusive.
PruningMask cutWithin(const ModelSpec& spec, const Matrix& values, const CutOrder& order, double bound,
                      const Protection& protection, const PruningMask& base);

/// Number of units that `after` cuts and `before` does not; layers that share their weights count once.
std::size_t newlyCut(const ModelSpec& spec, CutUnit unit, const PruningMask& before, const PruningMask& after);

/// Number of units of the model; layers that share their weights count once.
std::size_t unitCount(const ModelSpec& spec, CutUnit unit);

/// Values drawn uniformly from [0, 1), the same for the same seed with any standard library. Cutting the lowest of them
/// cuts at random, and a larger budget contains a smaller one.
Matrix randomValues(const ModelSpec& spec, CutUnit unit, std::uint64_t seed);

/// The unit that a metric ranks. @throws UsageError when it ranks none
CutUnit unitOf(const MetricInfo& metric);

} // namespace secateur
