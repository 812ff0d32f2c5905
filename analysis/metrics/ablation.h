#pragma once

#include "analysis/metrics/ablation_parts.h"
#include "analysis/metrics/measure.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace secateur {

/// Exact ablation: what a model loses when one part of it alone is taken away, as the table of ablation_metrics.h has
/// it. Values are what the full evaluation under the mask of that cut gives; a feature "error" is the standard error
/// over sequences of the value, as if they were drawn from more such texts. Screened ones (screened_ablation.h) are
/// partly predicted, and have standard errors.

/// What is known already, and who wants to know more.
struct AblationMemory {
    std::span<const MetricResult> known = {}; ///< of the same measurement; what has a value is not measured again
    /// May be empty. Hears after each step of what is there, to keep it.
    std::function<void(const std::vector<MetricResult>& results)> more = {};
};

/// What a model is run on, whole and without each part.
struct AblationRun {
    const Plan& plan; ///< of model.runner(); what its mask cuts has no values
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {}; ///< of a classifier: the class of each sequence; empty = not known
    std::int64_t batchTokens = 4096;  ///< that run at once, padding included, but at least one sequence
    std::int64_t waitingBytes = std::int64_t{1} << 30; ///< of streams side by side, where weights do not stay in memory
    AblationMemory memory = {};
};

/// What the parts that are not known yet take, in plain passes of all sequences through all layers, and through the
/// read-out. The whole model, which goes with them, is counted.
struct AblationPasses {
    double layers = 0;
    double lmHeads = 0;
    std::int64_t parts = 0;
};
AblationPasses ablationPasses(const Model& model, const AblationRun& run, std::span<const MetricRequest> requests);

/// Rises of the mean loss per predicted token; of classifiers, per labelled text. From the first layer up: the dense
/// stream enters a layer, that layer's variants leave it (Runner::runVariants), and go through the layers above side by
/// side. Beside the streams of one layer, memory holds a few variants of a batch. A part of a layer that shares its
/// weights is taken away from all that share them. Going on from what is known gives the last bit of a run in one go.
/// Stopped, it gives the layers that are done (isWhole is false). Digests, source and rules of the text are left to the
/// caller.
/// @param layerDone hears of each layer when it is done
/// @throws UsageError for encoders without a classifier or labels, and requests of accuracy; Error when there is
/// nothing to predict; Cancelled, within the time that one layer takes for one batch, before anything is there
std::vector<MetricResult> measureAblation(const Model& model, const AblationRun& run,
                                          std::span<const MetricRequest> requests, const Progress& progress,
                                          const LayerSink& layerDone = {});

/// How many parts ablateEach() will try.
std::int64_t partsToTry(const ModelSpec& spec, const PruningMask& mask, std::span<const MetricRequest> requests,
                        std::span<const MetricResult> known);

/// The effect of one part, from a run under the mask that cuts it besides.
using AblationTrial = std::function<AblationEffect(const PruningMask& mask, const Progress& progress)>;

/// Tries each part, in the order of layers, for what has no streams to share: tasks. Stopped, it gives what is there.
/// @throws as the trial; Cancelled before anything is there
std::vector<MetricResult> ablateEach(const ModelSpec& spec, const PruningMask& mask,
                                     std::span<const MetricRequest> requests, const AblationTrial& trial,
                                     const AblationMemory& memory, const Progress& progress,
                                     const LayerSink& layerDone = {});

} // namespace secateur
