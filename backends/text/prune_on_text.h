#pragma once

#include "analysis/metrics/measure_choice.h"
#include "analysis/model/model.h"
#include "analysis/base/progress.h"
#include "analysis/strategies/prune.h"
#include "analysis/running/run_speed.h"
#include "backends/text/sequence_text.h"

#include <cstdint>

namespace secateur {

/// pruneGreedily() on a text, with what was measured on. @throws as pruneGreedily()
PruneResult pruneOnText(const Model& model, const PruneRequest& request, const SequenceText& text,
                        std::int64_t batchTokens, const Progress& progress);

/// The same on a text that a person chose. Where they left the tokens open, as many as all steps together take five
/// minutes for, but 512 at least and 8,192 at most. @throws as readSequenceText() and pruneGreedily()
PruneResult pruneOnChoice(const Model& model, const PruneRequest& request, const MeasureChoice& choice,
                          const Progress& progress);

/// What a run takes, as plain passes over its text.
double greedyPasses(const ModelSpec& spec, const PruneRequest& request);

} // namespace secateur
