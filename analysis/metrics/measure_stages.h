#pragma once

#include "analysis/metrics/measure.h"
#include "analysis/running/backward_walk.h"
#include "analysis/running/runner.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace secateur {

/// The first stage of measure(): metrics from weights, on the whole model. Goes through the layers once and computes
/// all requests, in float64. MetricResult::measurement is left empty.
/// @throws Error naming file and tensor; Cancelled
std::vector<MetricResult> measureWeights(const Model& model, std::span<const MetricRequest> requests,
                                         const Progress& progress, const LayerSink& layerDone = {});

/// The order in which layers get exact values after estimates: next comes the layer that is not separated
/// (notSeparated()) from the largest number of layers; of equal ones the layer with the largest error. Layers without
/// estimates come in their order in the model.
class LayerOrder {
public:
    explicit LayerOrder(std::size_t layers);

    void setEstimate(std::size_t layer, double value, double standardError);
    void setExact(std::size_t layer, double value) { setEstimate(layer, value, 0); }
    /// The next layer, each once; nothing after the last.
    std::optional<std::size_t> next();

private:
    struct Layer {
        double value = 0;
        double error = 0;
        bool hasValue = false;
        bool isTaken = false;
    };

    std::size_t doubts(const Layer& layer) const;

    std::vector<Layer> m_layers;
};

/// The plan and the text of a measurement.
struct ForwardRun {
    const Plan& plan; ///< of model.runner()
    std::span<const TokenSequence> sequences;
    std::int64_t batchTokens = 4096;  ///< maximum of a batch, padding included; a longer sequence runs alone
    const Cluster* cluster = nullptr; ///< ranks that share the batches
};

/// Computes all requests from one pass over the sequences, under the plan's mask; cut units get no values. Sums are in
/// float64, and added in the order of the batches, so that they do not depend on the number of ranks. With a resident
/// plan the run goes batch by batch, and the values of all layers become more precise
/// together; otherwise it goes layer by layer. A stopped run returns the values from the complete batches, or layers
/// (MetricResult::data counts their tokens, isWhole is false). The caller fills in MetricResult::measurement and the
/// remaining fields of MetricResult::data. With a cluster, all ranks get the results, and a stopped run has none.
/// @param layerDone is called for all layers after each batch, or for each complete layer; not with a cluster
/// @throws UsageError for requests that do not suit the model or the sequences; Error if there is no sequence;
/// Cancelled if stopped before the first value
std::vector<MetricResult> measureForward(const Model& model, const ForwardRun& run,
                                         std::span<const MetricRequest> requests, const Progress& progress,
                                         const LayerSink& layerDone = {});

/// The plan, the text and the labels of a measurement.
struct GradientRun {
    const Plan& plan; ///< of model.runner()
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {}; ///< of a classifier: the class of each sequence; empty = not known
    std::int64_t batchTokens = 4096;  ///< maximum of a batch, padding included; a longer sequence runs alone
    BackwardMemory memory = {};
    const Cluster* cluster = nullptr; ///< ranks that share the batches
};

/// The cost of the requests; 1 is a backward pass of all sequences through all layers, which takes as long as two or
/// three forward passes.
/// @throws UsageError as measureGradient()
double backwardPasses(const Model& model, const GradientRun& run, std::span<const MetricRequest> requests);

/// Computes all requests under the plan's mask; cut units get no values. Requests that differentiate the same scalar in
/// the same batches share one backward pass; self_attribution needs many passes of its own. Sums are in float64. Layers
/// that share their weights get the same values, from the sum of their gradients, except for self_attribution. A
/// stopped run returns the values from the complete batches (MetricResult::data counts their tokens, isWhole is false).
/// The caller fills in MetricResult::measurement and the remaining fields of MetricResult::data. With a cluster, all
/// ranks get the results, and a stopped run has none.
/// @param layerDone is called for all layers after some batches
/// @throws UsageError for requests that do not suit the model or the sequences; Error if there is no sequence;
/// Cancelled if stopped before the first value
std::vector<MetricResult> measureGradient(const Model& model, const GradientRun& run,
                                          std::span<const MetricRequest> requests, const Progress& progress,
                                          const LayerSink& layerDone = {});

} // namespace secateur
