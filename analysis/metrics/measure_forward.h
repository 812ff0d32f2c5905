#pragma once

#include "analysis/metrics/measure.h"
#include "analysis/running/plan.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// What a model is run on to be measured.
struct ForwardRun {
    const Plan& plan; ///< of model.runner()
    std::span<const TokenSequence> sequences;
    std::int64_t batchTokens = 4096; ///< that run at once, padding included, but at least one sequence
};

/// Computes all requests from one pass over the sequences, under the plan's mask; what it cuts has no values. Sums are
/// in float64. Where the weights stay in memory batch follows batch, and all layers sharpen together; else layer
/// follows layer. Stopped, it gives what it has: of the batches that are through, or of the layers (MetricResult::data
/// says of how many tokens, isWhole that it is not all). Digests, source and rules of the text are left to the caller.
/// @param layerDone hears of all layers after each batch, or of each layer when it is done
/// @throws UsageError for requests that do not go with the model or the sequences; Error when there is no sequence;
/// Cancelled when it is stopped before it has anything
std::vector<MetricResult> measureForward(const Model& model, const ForwardRun& run,
                                         std::span<const MetricRequest> requests, const Progress& progress,
                                         const LayerSink& layerDone = {});

} // namespace secateur
