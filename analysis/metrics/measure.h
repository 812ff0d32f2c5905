#pragma once

#include "analysis/base/cluster.h"
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
    std::span<const double> standardErrors; ///< one for each value if they are estimates; else empty
};

/// Called with the values of each layer of each request. Only one thread at a time calls it, but not always the same
/// thread. A layer may come more than once: first with estimates or values of a part of the text, last with final
/// values.
using LayerSink = std::function<void(const LayerCells&)>;

/// The text and the mask that the window's user chose for measurements. Metrics of weights use neither.
struct MeasureChoice {
    std::string text;                  ///< file or folder; empty = the built-in text
    std::int64_t tokens = 0;           ///< maximum; 0 = interactiveTokens()
    std::optional<PruningMask> mask{}; ///< mask under which the model runs; absent = the whole model
};

/// A text, read and divided into token sequences for one model.
struct SequenceText {
    SequenceSet set;
    std::vector<int> labels; ///< for a classifier on labelled texts: the class of each sequence; else empty
    MeasuredData data;       ///< data of all sequences
    std::string digest;      ///< digest of the token ids of all sequences
    std::vector<std::string> warnings;
};

/// Results of earlier ablations, and a receiver of new ones.
struct AblationMemory {
    std::span<const MetricResult> known = {}; ///< results of the same measurement, whose values are not measured again
    /// Called after each step with the results so far. May be empty.
    std::function<void(const std::vector<MetricResult>& results)> more = {};
};

/// Input of all requests that run the model.
struct MeasureInput {
    std::shared_ptr<const Plan> plan; ///< plan of model.runner(); units that its mask cuts get no values
    SequenceText text;
    Measurement measurement;         ///< copied into the results, except for the time
    std::int64_t batchTokens = 4096; ///< maximum tokens of a batch, including padding; a longer sequence runs alone
    AblationMemory memory = {};
    const Cluster* cluster = nullptr;      ///< ranks that share the passes over the text
    std::optional<Progress> progress = {}; ///< for the passes over the text; absent = the one that measure() was given
};
/// Plans the run and reads the text. Called at most once, after the metrics of weights, and only if a request runs the
/// model. @param rest the part of the progress that the passes over the text will have
using MeasureInputReader = std::function<MeasureInput(const Progress& rest)>;

/// Measures metrics of all kinds: first those from weights, on the whole model; then those from a forward pass, from
/// gradients and from ablations, on the input that readInput() returns. Results are in the order of the requests, with
/// MetricResult::measurement filled in. A stopped run returns the values so far, without requests that have none.
/// @throws UsageError and Error as the stages (measure_stages.h, ablation.h) and readInput(), and for metrics that this
/// version cannot compute; Cancelled if stopped before the first value
std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests,
                                  const MeasureInputReader& readInput, const Progress& progress,
                                  const LayerSink& layerDone = {});

/// Measures metrics from weights only. @throws Error naming a metric that needs a text
std::vector<MetricResult> measure(const Model& model, std::span<const MetricRequest> requests, const Progress& progress,
                                  const LayerSink& layerDone = {});

} // namespace secateur
