#pragma once

#include "analysis/prediction/prediction.h"
#include "analysis/session/session.h"

#include <optional>

namespace secateur {

/// What the masks of a session's model cost, as far as the session can tell: from what it keeps for that, the ablations
/// it measured, and all texts that it scored per token under masks. Nothing where it keeps nothing for that.
std::optional<Predictor> predictorOf(const Session& session);

} // namespace secateur
