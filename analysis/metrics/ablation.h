#pragma once

#include "analysis/metrics/ablation_parts.h"
#include "analysis/metrics/measure.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace secateur {

// Exact ablation: the increase of the loss if one unit is removed (resources/manual/metrics.md, Ablation). A value
// equals the increase that a full evaluation finds if this cut is added to the mask. The feature "error" of the result
// contains the standard errors over sequences. Screened rankings (screened_ablation.h) also contain predicted values.

/// The plan, the text and the labels of a measurement.
struct AblationRun {
    const Plan& plan; ///< plan of model.runner(); units that its mask cuts get no values
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {}; ///< for a classifier, the class of each sequence; empty = not known
    std::int64_t batchTokens = 4096;  ///< maximum tokens of a batch, including padding; a longer sequence runs alone
    std::int64_t waitingBytes =
        std::int64_t{1} << 30; ///< maximum of streams that wait for the next layers, if the plan is not resident
    AblationMemory memory = {};
    const Cluster* cluster = nullptr; ///< ranks that share the layers
};

/// The cost of ablating the units without known values, and of the run of the whole model. The unit is a forward pass
/// of all sequences: through all layers for `layers`, through the LM head for `lmHeads`.
struct AblationPasses {
    double layers = 0;
    double lmHeads = 0;
    std::int64_t parts = 0; ///< number of units without known values
};
AblationPasses ablationPasses(const Model& model, const AblationRun& run, std::span<const MetricRequest> requests);

/// Measures increases of the mean loss per predicted token; of classifiers per labelled text. Goes from the first layer
/// up: the residual stream of the whole model enters a layer, Runner::runVariants() computes the layer's output without
/// each of its units, and each of these variants runs through the layers above. Memory holds the streams of one layer
/// and a few variants of a batch. A unit of a layer that shares its weights is removed from all layers that share them.
/// A run that continues from known values gives the same bits as an uninterrupted one. A stopped run returns the
/// complete layers (isWhole is false). With a cluster, each rank ablates the units of a layer at a time, and all ranks
/// get the values; rank 0 passes them on as they arrive. The caller fills in MetricResult::measurement and the
/// remaining fields of MetricResult::data.
/// @param layerDone is called for each complete layer
/// @throws UsageError for encoders without a classifier or labels, and for requests with of=accuracy; Error if there is
/// nothing to predict; Cancelled if stopped before the first value (checked between the layers of each batch)
std::vector<MetricResult> measureAblation(const Model& model, const AblationRun& run,
                                          std::span<const MetricRequest> requests, const Progress& progress,
                                          const LayerSink& layerDone = {});

/// The number of units without known values. ablateEach() runs a trial for each of them.
std::int64_t partsToTry(const ModelSpec& spec, const PruningMask& mask, std::span<const MetricRequest> requests,
                        std::span<const MetricResult> known);

/// Runs the task under a mask and returns the effect relative to the run without the added cut.
/// @param mask the mask of the measurement with one more unit cut
using AblationTrial = std::function<AblationEffect(const PruningMask& mask, const Progress& progress)>;

/// Runs a trial for each unit, in the order of layers. It is used for tasks, whose runs share no streams. A stopped run
/// returns the results so far. @param cluster ranks that share the units @throws as the trial; Cancelled if stopped
/// before the first value
std::vector<MetricResult> ablateEach(const ModelSpec& spec, const PruningMask& mask,
                                     std::span<const MetricRequest> requests, const AblationTrial& trial,
                                     const AblationMemory& memory, const Progress& progress,
                                     const LayerSink& layerDone = {}, const Cluster* cluster = nullptr);

} // namespace secateur
