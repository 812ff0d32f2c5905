#pragma once

#include "analysis/campaigns/campaign.h"

#include <string>

namespace secateur {

// How stable a strategy is: its masks are chosen on disjoint parts of the calibration text. They are not scored.

/// Whether a measurement read only a part of a text. MeasuredData::split then ends in ", part 2 of 4".
bool isPartOfText(const MeasuredData& data);
/// The end of MeasuredData::split for measurements on parts of a text: ", part 2 of 4"
std::string partEnding(int part, int parts);
/// The number of parts in such an ending; 0 = the whole text was read.
int partsOfText(const MeasuredData& data);

/// Chooses the masks of a sweep on each of `parts` parts of the calibration text, which have as many whole sequences
/// each (one more at most). Strategies that read no text or draw at random are left out. Calls the sink as runSweep().
/// The points come into sets of curves of their own, without losses.
/// @throws UsageError if the text has fewer sequences than parts; Cancelled
void chooseOnParts(const Model& model, const SweepRequest& request, const SweepInputs& inputs, const SweepKnown& known,
                   int parts, const SweepSink& sink, const Progress& progress = {});

} // namespace secateur
