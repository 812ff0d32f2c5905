#pragma once

#include "analysis/figures/figure.h"
#include "analysis/masks/price.h"
#include "analysis/session/session.h"

#include <string_view>

namespace secateur {

/// Scatter of quality against size: one point per mask that was scored on the text of the session's latest evaluation.
/// x is the number of kept parameters in millions. y is the increase of the loss over the dense model, or the loss
/// itself if the dense model was not scored. FigureSeries::places are indices in Session::evaluations. Runs on other
/// windows of that text, or on only some of them, are hollow points, which the note explains; their dense runs are on
/// the same windows.
/// @param prices of the session's model @param current digest of a mask that gets its own series; empty = none
/// @throws Error when the session holds no evaluation of a text
Figure evaluationScatter(const Session& session, const PriceList& prices, std::string_view current = {});

} // namespace secateur
