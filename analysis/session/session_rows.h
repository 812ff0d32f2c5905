#pragma once

#include "analysis/session/session.h"

#include <vector>

namespace secateur {

// How sessions grow, for what writes only the changes of a file.

/// Adds the masks of another session. @returns its evaluations, by the names that their masks have now
std::vector<Evaluation> joinMasks(Session& session, const Session& other);

/// Whether nothing is left of an evaluation whose runs were all replaced.
bool isEmpty(const Evaluation& evaluation);

/// Adds an evaluation to a list as add() does to a session's, but leaves empty ones in their places.
/// @param isChanged of each evaluation; true for those that changed, and for a new one
void place(std::vector<Evaluation>& evaluations, Evaluation evaluation, std::vector<bool>& isChanged);

} // namespace secateur
