#pragma once

#include "analysis/strategies/prune.h"

#include <vector>

namespace secateur {

/// A part of a calibration text.
struct TextPart {
    std::vector<TokenSequence> sequences;
    std::vector<int> labels; ///< classes of the sequences; empty = not known
    CalibrationText settings; ///< batch size, type and so on; its sequences are not used

    /// The part as a calibration text. This object must outlive it.
    CalibrationText text() const;
};

/// A calibration text in two parts: one to fit to, and one that is held out for choices that must not use the first.
struct SplitText {
    TextPart fitted;
    TextPart heldOut;
};

/// Holds out the last quarter of the tokens, in whole sequences from the end. If all sequences but the first are less
/// than a quarter, the end of the first completes it, except in labelled texts.
/// @throws Error if the text is too short to divide, or a single labelled text
SplitText withLastQuarterHeldOut(const CalibrationText& text);

/// The first quarter of the tokens of a text. The last sequence is cut short, except in labelled texts. It has at least
/// two tokens.
TextPart firstQuarter(const CalibrationText& text);

/// A metric of the dense model on a text. @throws as measure(); Cancelled if stopped
MetricResult measureOn(const Model& model, const CalibrationText& text, const MetricRequest& metric,
                       const Progress& progress);

} // namespace secateur
