#pragma once

#include "analysis/metrics/measure.h"
#include "analysis/running/plan.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <span>
#include <vector>

namespace secateur {

/// The plan and the text of a measurement.
struct ForwardRun {
    const Plan& plan; ///< of model.runner()
    std::span<const TokenSequence> sequences;
    std::int64_t batchTokens = 4096; ///< maximum number of tokens that run at once with padding, or one sequence
};

/// Computes all requests from one pass over the sequences, under the plan's mask; cut units have no values. Sums are in
/// float64. Where the weights stay in memory the run goes batch by batch and all layers become more precise together;
/// else it goes layer by layer. A stopped run returns the values of the batches, or layers, that are complete
/// (MetricResult::data counts their tokens, isWhole is false). The caller fills in digests, source and rules of the
/// text.
/// @param layerDone is called for all layers after each batch, or for each complete layer
/// @throws UsageError for requests that do not suit the model or the sequences; Error when there is no sequence;
/// Cancelled when it is stopped before there is a value
std::vector<MetricResult> measureForward(const Model& model, const ForwardRun& run,
                                         std::span<const MetricRequest> requests, const Progress& progress,
                                         const LayerSink& layerDone = {});

} // namespace secateur
