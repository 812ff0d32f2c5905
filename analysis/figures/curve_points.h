#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/masks/price.h"
#include "analysis/session/session.h"

#include <cstddef>
#include <vector>

namespace secateur {

/// A mask of a session that no strategy of the curves chose, or a mask with an adapter, measured as their points were.
struct OtherPoint {
    std::size_t evaluation = 0; ///< index in Session::evaluations, of the latest one
    CurvePoint point;           ///< with the numbers of all evaluations of this mask and adapter that fit the curves
};

/// The masks of a session that were evaluated under the conditions of the curves and are none of their points. Losses
/// count if all windows of the same text were scored; metrics of a task if the task has the same name, format and
/// number of questions; speeds if the same numbers of tokens were generated.
/// @param prices at the length of CurveConditions::positions
std::vector<OtherPoint> otherPoints(const Session& session, const Curves& curves, const PriceList& prices);

} // namespace secateur
