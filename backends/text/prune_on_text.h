#pragma once

#include "analysis/base/progress.h"
#include "analysis/metrics/measure_choice.h"
#include "analysis/model/model.h"
#include "analysis/strategies/prune.h"
#include "backends/text/sequence_text.h"

#include <cstdint>

namespace secateur {

/// A text as strategies measure on it. Residual streams may take a share of the free memory. @param text outlives it
CalibrationText calibrationText(const SequenceText& text, std::int64_t batchTokens);

/// prune() on a chosen text. Where the choice leaves the tokens open, a strategy that cuts in steps reads as many as
/// all its steps take five minutes for, at least 512 and at most 8,192.
/// @throws as measureOnChoice(), readSequenceText() and prune()
PruneResult pruneOnChoice(const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                          const Progress& progress);

} // namespace secateur
