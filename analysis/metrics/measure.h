#pragma once

#include "analysis/base/progress.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model.h"
#include "analysis/running/runner.h"
#include "analysis/text/sequences.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// The values of one request at one layer.
struct LayerCells {
    std::size_t request = 0;
    int layer = 0;
    std::span<const double> values;
    std::span<const double> standardErrors; ///< one for each value where they are estimates; else empty
};

/// Is called for each layer of each request, one call at a time, from any thread: with an estimate where there is one
/// early, then with exact values.
using LayerSink = std::function<void(const LayerCells&)>;

/// The choice in the window of what metrics are measured on. Metrics of weights need none of it.
struct MeasureChoice {
    std::string text;                  ///< file or folder; empty = the built-in text
    std::int64_t tokens = 0;           ///< maximum; 0 = what the model reads in a minute
    std::optional<PruningMask> mask{}; ///< under which the model runs; absent = the whole model
};

/// A text, read and cut into sequences for one model.
struct SequenceText {
    SequenceSet set;
    std::vector<int> labels; ///< classes of the sequences, where a classifier reads labelled texts; else empty
    MeasuredData data;       ///< of all sequences
    std::string digest;      ///< of the token ids of all sequences
    std::vector<std::string> warnings;
};

/// Ablations that are known already, and a receiver of new ones.
struct AblationMemory {
    std::span<const MetricResult> known = {}; ///< of the same measurement; their values are not measured again
    /// May be empty. Is called after each step with the results so far.
    std::function<void(const std::vector<MetricResult>& results)> more = {};
};

/// What requests that run the model are measured on.
struct MeasureInput {
    std::shared_ptr<const Plan> plan; ///< of model.runner(); units that its mask cuts have no values
    SequenceText text;
    Measurement measurement;         ///< that results carry, except for the time
    std::int64_t batchTokens = 4096; ///< maximum number of tokens that run at once with padding, or one sequence
    AblationMemory memory = {};
    std::optional<Progress> progress = {}; ///< of the passes over the text, in place of the one that was given
};
/// Plans and reads. Is called at most once, after the metrics of weights, and only where a request runs the model.
/// @param rest of the progress, for the passes over the text
using MeasureInputReader = std::function<MeasureInput(const Progress& rest)>;

/// Measures any metrics: those of weights of the whole model, then those that need a forward pass, gradients and
/// ablation on what readInput() gives. Results are in the order of the requests and carry all that identifies a
/// measurement. A stopped run returns what it has of each request, without requests that it did not reach.
/// @throws UsageError and Error as the stages (measure_stages.h, ablation.h) and readInput(), and for metrics that this
/// version cannot compute; Cancelled when there is no value yet
std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests,
                                  const MeasureInputReader& readInput, const Progress& progress,
                                  const LayerSink& layerDone = {});

/// Of metrics of weights alone. @throws Error naming a metric that needs a text
std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests, const Progress& progress,
                                  const LayerSink& layerDone = {});

} // namespace secateur
