#pragma once

#include "analysis/campaigns/curves.h"
#include "analysis/session/session.h"

#include <string>

namespace secateur {

/// The document of `sweep --json` (resources/manual/formats.md, JSON output): {"model", "calibration", "scored", "dense",
/// "curves", "tasks", "latency", "warnings"}.
/// @param session the session with the masks and the model of the curves
std::string sweepJson(const Session& session, const Curves& curves, double seconds);

} // namespace secateur
