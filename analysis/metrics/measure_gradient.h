#pragma once

#include "analysis/running/backward_walk.h"
#include "analysis/metrics/measure.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// What a model is run on, and differentiated.
struct GradientRun {
    const Plan& plan; ///< of model.runner()
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {}; ///< of a classifier: the class of each sequence; empty = not known
    std::int64_t batchTokens = 4096;  ///< that run at once, padding included, but at least one sequence
    BackwardMemory memory = {};
};

/// What a run costs, in passes of all texts down all layers: each takes as long as two or three plain runs.
/// @throws UsageError as measureGradient()
double backwardPasses(const Model& model, const GradientRun& run, std::span<const MetricRequest> requests);

/// Computes all requests under the plan's mask; what it cuts has no values. Those that differentiate the same scalar
/// share one backward pass for all layers, heads and sequences; those that need other batches have passes of their own,
/// and attribution has many. Sums are in float64. Layers that share their weights have the same values, of the sum of
/// their gradients, but for attribution. Stopped, it gives what it has: of the batches that are through
/// (MetricResult::data says of how many tokens, isWhole that it is not all). Digests, source and rules of the text are
/// left to the caller.
/// @param layerDone hears of all layers after some batches
/// @throws UsageError for requests that do not go with the model or the sequences; Error when there is no sequence;
/// Cancelled when it is stopped before it has anything
std::vector<MetricResult> measureGradient(const Model& model, const GradientRun& run,
                                          std::span<const MetricRequest> requests, const Progress& progress,
                                          const LayerSink& layerDone = {});

} // namespace secateur
