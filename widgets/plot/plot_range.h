#pragma once

#include "analysis/figures/figure.h"

namespace secateur {

/// From a little under the least to a little over the greatest value, whiskers included; from 0 where that is not far.
/// @param right the series of the right axis rather than those of the left one
AxisRange fittingRange(const std::vector<FigureSeries>& series, bool right, bool logarithmic);

/// Of a scatter: from a little before the first to a little behind the last point.
/// @param along positions or values
AxisRange pointRange(const std::vector<FigureSeries>& series, std::vector<double> FigureSeries::*along,
                     bool logarithmic);

/// Keeps an axis still while its values change: what is shown, unless the new values leave it or would be small in it.
/// An end that moves outwards makes room for more.
AxisRange steadyRange(const AxisRange& shown, const AxisRange& fitting, bool logarithmic);

} // namespace secateur
