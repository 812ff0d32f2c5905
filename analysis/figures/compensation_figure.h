#pragma once

#include "analysis/figures/figure.h"
#include "analysis/figures/figure_info.h"
#include "analysis/session/session.h"

namespace secateur {

/// What the option `value` of the figure `compensation` shows for each fitted projection.
enum class FitValue {
    mu,    ///< the chosen ridge, in multiples of the mean diagonal
    error, ///< squared error on the held-out tokens before and after the fit, relative to the outputs of the whole
           ///< sublayer
};

/// The fits of a mask's compensation over the layers, a line for each kind of projection.
/// @param mask its provenance has fits @throws Error if it has none, or none with a ridge
Figure compensationFigure(const ModelCard& model, const SessionMask& mask, FitValue value);

/// The row `compensation` of the table of figures. Without a name, the latest mask with a fitted compensation is drawn.
Figure drawCompensation(const Session& session, const FigureOptions& options);
/// @throws UsageError
void checkCompensation(const FigureOptions& options);

} // namespace secateur
