#pragma once

#include "analysis/figures/figure.h"
#include "analysis/masks/price.h"
#include "analysis/session/session.h"

#include <string_view>

namespace secateur {

/// Scatter plot of quality against size, with a point for each mask that was scored on the text of the session's latest
/// evaluation. x is the number of kept parameters in millions. y is the increase of the loss over the dense model; if
/// the dense model was not scored, the loss itself. FigureSeries::places are indices in Session::evaluations.
/// @param prices of the session's model @param current digest of a mask that gets a series of its own; empty = none
/// @throws Error if the session has no evaluation of a text
Figure evaluationScatter(const Session& session, const PriceList& prices, std::string_view current = {});

} // namespace secateur
