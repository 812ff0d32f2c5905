#pragma once

#include "analysis/masks/protection.h"
#include "analysis/session/session.h"

#include <string>
#include <vector>

namespace secateur {

// Names of masks: the user's own, or titles that tell what a mask cuts.

/// What a mask cuts: "gate_norm lowest 8" or "random 10 %" if a strategy made it, otherwise its units: "L0.H1, L2.H3",
/// "12 heads, 1 MLP". "mask" if it cuts nothing.
std::string maskTitle(const MaskRecord& record);

/// Whether a name is the mask's title, perhaps with "copy" or a number, and not one that the user chose.
bool isTitle(const std::string& name, const MaskRecord& record);

/// Gives the masks of a list, and their evaluations in a session, the same names: a session's mask that is also in the
/// list is replaced by the one of the list. @param digests of the masks of the list
void adoptNames(Session& session, const std::vector<NamedMask>& masks, const std::vector<std::string>& digests);

/// The name of an evaluated mask: that of the list if it has the mask, otherwise the stored one.
/// @param digests of the masks of the list
std::string shownName(const EvaluatedMask& mask, const std::vector<NamedMask>& masks,
                      const std::vector<std::string>& digests);

} // namespace secateur
