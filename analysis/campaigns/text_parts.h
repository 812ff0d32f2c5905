#pragma once

#include "analysis/campaigns/campaign.h"

namespace secateur {

// How stable a strategy is: its masks are chosen on disjoint parts of the calibration text. They are not scored.

/// What chooseOnParts() will cost at most. @throws as costOf(), and UsageError as chooseOnParts()
SweepCost costOnParts(const Model& model, const SweepRequest& request, const SweepInputs& inputs,
                      const SweepKnown& known, int parts, const Progress& progress = {});

/// Chooses the masks of a sweep on each of `parts` parts of the calibration text, which have as many whole sequences
/// each (one more at most). Strategies that read no text or draw at random are left out. Calls the sink as runSweep().
/// The points come into sets of curves of their own, without losses.
/// @throws UsageError if the text has fewer sequences than parts; Cancelled
void chooseOnParts(const Model& model, const SweepRequest& request, const SweepInputs& inputs, const SweepKnown& known,
                   int parts, const SweepSink& sink, const Progress& progress = {});

} // namespace secateur
