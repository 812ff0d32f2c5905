#pragma once

#include "analysis/figures/figure.h"
#include "analysis/masks/price.h"
#include "analysis/session/session.h"

#include <string_view>

namespace secateur {

/// Quality against size: a point for each mask of a session that was scored on the same text as its latest evaluation,
/// at the parameters that are left and the nats of loss above the dense model's (its loss itself, where the dense model
/// did not run).
/// A point's place is that of its evaluation in the session.
/// @param prices of the session's model @param current digest of a mask to set apart; empty = none
/// @throws Error when the session holds no evaluation of a text
Figure evaluationScatter(const Session& session, const PriceList& prices, std::string_view current = {});

} // namespace secateur
