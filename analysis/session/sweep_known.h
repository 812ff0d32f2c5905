#pragma once

#include "analysis/campaigns/campaign.h"
#include "analysis/session/session.h"

namespace secateur {

/// What earlier sweeps of a session found. @param session must outlive the result and not change
SweepKnown knownOf(const Session& session);

} // namespace secateur
