#pragma once

#include "analysis/metrics/measure.h"
#include "analysis/running/backward_walk.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// The plan, the text and the labels of a measurement.
struct GradientRun {
    const Plan& plan; ///< of model.runner()
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {}; ///< of a classifier: the class of each sequence; empty = not known
    std::int64_t batchTokens = 4096;  ///< maximum number of tokens that run at once with padding, or one sequence
    BackwardMemory memory = {};
};

/// The cost in backward passes of all sequences through all layers. Each takes as long as two or three plain passes.
/// @throws UsageError as measureGradient()
double backwardPasses(const Model& model, const GradientRun& run, std::span<const MetricRequest> requests);

/// Computes all requests under the plan's mask; cut units have no values. Requests that differentiate the same scalar
/// share one backward pass for all layers, heads and sequences; requests that need other batches have passes of their
/// own, and self_attribution has many. Sums are in float64. Layers that share their weights have the same values, of
/// the sum of their gradients, except for self_attribution. A stopped run returns the values of the complete batches
/// (MetricResult::data counts their tokens, isWhole is false). The caller fills in digests, source and rules of the
/// text.
/// @param layerDone is called for all layers after some batches
/// @throws UsageError for requests that do not suit the model or the sequences; Error when there is no sequence;
/// Cancelled when it is stopped before there is a value
std::vector<MetricResult> measureGradient(const Model& model, const GradientRun& run,
                                          std::span<const MetricRequest> requests, const Progress& progress,
                                          const LayerSink& layerDone = {});

} // namespace secateur
