#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/figures/curve_figures.h"
#include "analysis/masks/price.h"

#include <optional>
#include <string>
#include <string_view>

namespace secateur {

/// A value on an axis, with its standard error.
struct CurveValue {
    double value = notMeasured;
    double error = 0;
};

/// What quantities are computed with.
struct CurveScale {
    Price dense; ///< of the whole model
    std::string task;   ///< CurveTask::name; empty = none
    std::string metric; ///< PointMetric::id
    std::optional<CutUnit> unit{}; ///< what all shown strategies cut; empty = several kinds
    bool isPerWord = false; ///< whether losses are per word
};

enum class BetterEnd { low, high };

/// A row of the table of quantities along x.
struct XQuantity : CurveQuantity {
    BetterEnd better;
    bool isSaving; ///< whether it is an amount that masks remove, 0 for the dense model
    std::string (*label)(const CurveScale& scale);
    double (*value)(const CurvePoint& point, const CurveScale& scale); ///< NaN = not measured
};
/// A row of the table of quantities along y.
struct YQuantity : CurveQuantity {
    BetterEnd better;
    bool isLogarithmic; ///< whether the automatic scale is logarithmic
    std::string (*label)(const CurveScale& scale);
    CurveValue (*value)(const CurvePoint& point, const CurveScale& scale);
};

/// @throws UsageError for an unknown id
const XQuantity& xQuantity(std::string_view id);
/// @throws UsageError for an unknown id
const YQuantity& yQuantity(std::string_view id);
/// The row of y for `auto`: the task if one is named, else the first quantity that a point has.
const YQuantity& firstMeasured(const Curves& curves, const CurveScale& scale, bool namesTask);
/// Whether larger values are better. @param y of the values
bool isHighBetter(const YQuantity& y, const CurveScale& scale);

} // namespace secateur
