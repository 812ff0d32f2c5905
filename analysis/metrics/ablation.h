#pragma once

#include "analysis/metrics/ablation_parts.h"
#include "analysis/metrics/measure.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace secateur {

/// Exact ablation: the increase of the loss when one unit alone is removed (resources/manual/metrics.md, Ablation).
/// Values equal those of a full evaluation under the mask with that cut; the feature "error" is the standard error of
/// the value over sequences. Screened rankings (screened_ablation.h) are partly predicted and have standard errors.

/// The plan, the text and the labels of a measurement.
struct AblationRun {
    const Plan& plan; ///< of model.runner(); units that its mask cuts have no values
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {}; ///< of a classifier: the class of each sequence; empty = not known
    std::int64_t batchTokens = 4096;  ///< maximum number of tokens that run at once with padding, or one sequence
    std::int64_t waitingBytes =
        std::int64_t{1} << 30; ///< of the streams that wait for layers above, where weights do not stay in memory
    AblationMemory memory = {};
};

/// The cost of the units that are not known yet, in plain passes of all sequences through all layers, and through the
/// LM head. Includes the passes of the whole model.
struct AblationPasses {
    double layers = 0;
    double lmHeads = 0;
    std::int64_t parts = 0;
};
AblationPasses ablationPasses(const Model& model, const AblationRun& run, std::span<const MetricRequest> requests);

/// Increases of the mean loss per predicted token; of classifiers per labelled text. Goes from the first layer up: the
/// residual stream of the whole model enters a layer, one variant for each of the layer's units leaves it
/// (Runner::runVariants) and runs through the layers above. Besides the streams of one layer, memory holds a few
/// variants of a batch. A unit of a layer that shares its weights is removed from all layers that share them. A run
/// that continues from known values gives the same bits as a run in one go. A stopped run returns the complete layers
/// (isWhole is false). The caller fills in digests, source and rules of the text.
/// @param layerDone is called for each complete layer
/// @throws UsageError for encoders without a classifier or labels, and requests of accuracy; Error when there is
/// nothing to predict; Cancelled, within the time that one layer takes for one batch, before there is a value
std::vector<MetricResult> measureAblation(const Model& model, const AblationRun& run,
                                          std::span<const MetricRequest> requests, const Progress& progress,
                                          const LayerSink& layerDone = {});

/// The number of units that ablateEach() will try.
std::int64_t partsToTry(const ModelSpec& spec, const PruningMask& mask, std::span<const MetricRequest> requests,
                        std::span<const MetricResult> known);

/// The effect of one unit, from a run under the mask that cuts it besides.
using AblationTrial = std::function<AblationEffect(const PruningMask& mask, const Progress& progress)>;

/// Tries each unit by itself, in the order of layers: for tasks, whose runs share no streams. A stopped run returns the
/// results so far. @throws as the trial; Cancelled before there is a value
std::vector<MetricResult> ablateEach(const ModelSpec& spec, const PruningMask& mask,
                                     std::span<const MetricRequest> requests, const AblationTrial& trial,
                                     const AblationMemory& memory, const Progress& progress,
                                     const LayerSink& layerDone = {});

} // namespace secateur
