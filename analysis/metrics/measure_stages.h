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

/// The first stage of measure(): metrics that need nothing but weights, of the whole model. One walk over the layers
/// computes all requests, in float64. The measurement is left empty.
/// @throws Error naming file and tensor; Cancelled
std::vector<MetricResult> measureWeights(const Model& model, std::span<const MetricRequest> requests,
                                         const Progress& progress, const LayerSink& layerDone = {});

/// The order in which layers with estimates are measured exactly: first the layer whose rank is in doubt relative to
/// most others; of equal ones the layer with the largest error. Layers without estimates come in their own order.
class LayerOrder {
public:
    explicit LayerOrder(std::size_t layers);

    void setEstimate(std::size_t layer, double value, double standardError);
    void setExact(std::size_t layer, double value) { setEstimate(layer, value, 0); }
    /// Each layer comes once.
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
