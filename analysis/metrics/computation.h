#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace secateur {

// The functions with which a row of the metric table computes its metric (resources/manual/adding.md). A row has one of
// the four structures below. Optional functions may be null.

struct LayerMask;
struct LayerSpec;
struct MetricInfo;
struct MetricRequest;
class Model;
struct ModelSpec;

/// For metrics from the weights of one layer (weight_metrics.h).
class LayerWeights;
struct Estimate;

struct WeightMetric {
    /// Writes a value to each cell of the layer.
    void (*compute)(LayerWeights& weights, const MetricRequest& request, std::span<double> cells);
    /// Whether a layer has the weights that compute() reads. Other layers get no values.
    bool (*applies)(const LayerSpec& layer);
    /// For metrics with one value per layer: a quick estimate of this value. Empty if computing the exact value is as
    /// quick.
    std::optional<Estimate> (*estimate)(LayerWeights& weights, const MetricRequest& request) = nullptr;
    /// Warnings about options that have no effect on this model, or about values that mean little for it.
    std::vector<std::string> (*notes)(const ModelSpec& spec, const MetricRequest& request) = nullptr;
};

/// For metrics from one forward pass over a text (layer_sums.h). Sums over tokens are computed for each layer, and
/// values from these sums. Sums are additive, so that batches may come in any order.
enum class Tap;
class AttentionMetric;
struct ForwardLayer;
struct ForwardPass;
struct TappedBatch;

/// Groups of sums. Each group is computed once for all metrics that read it.
enum class SharedSums {
    none,
    stream,        ///< norms of the residual stream and its updates, and cosines between them, token by token
    similarity,    ///< cosines between the tokens of a sequence at the layer's output
    context,       ///< sums of each column of the output projection's input
    contributions, ///< norm of each head's contribution to the attention output
    neurons,       ///< sums of each column of the down projection's input
};

struct ForwardMetric {
    SharedSums reads = SharedSums::none;
    /// Computes a value for each kept unit of a layer, or the single value of the layer; NaN = no value. Null for
    /// metrics of attention probabilities.
    std::vector<double> (*finish)(const ForwardLayer& layer) = nullptr;
    /// The taps of sums that only this metric needs, in addition to the shared sums. For each layer and batch,
    /// accumulate() is called once for each tap and adds to `sums`.
    std::span<const Tap> taps = {};
    void (*accumulate)(const TappedBatch& batch, std::vector<double>& sums) = nullptr;
    /// For metrics of attention probabilities (attention_metrics.h), instead of the members above.
    /// @param longest number of tokens of the longest sequence
    std::unique_ptr<const AttentionMetric> (*attention)(const MetricRequest& request, std::int64_t longest,
                                                        bool causal) = nullptr;
    std::vector<std::string> (*notes)(const ForwardPass& pass, const MetricRequest& request) = nullptr;
};

/// For metrics from backward passes over a text (gradient_metrics.h). Sums over sequences are computed for each head,
/// and values from these sums.
enum class HeadSum;
struct BatchRule;
struct GradientLayer;
struct GradientRun;
class GradientScalars;
class GradientWork;

struct GradientMetric {
    /// The sums of a backward pass that finish() reads.
    std::vector<HeadSum> (*sums)(const MetricRequest& request) = nullptr;
    /// Computes a value for each kept head of a layer.
    std::vector<double> (*finish)(const GradientLayer& layer) = nullptr;
    /// How sequences are divided into batches. Null = by similar length, as many as fit.
    BatchRule (*batches)(const MetricRequest& request) = nullptr;
    /// Number of backward passes with random signs of the token losses. Null = one pass without signs.
    int (*drawings)(const MetricRequest& request) = nullptr;
    /// Whether the default scalar of classifiers with labels is the loss of the labels. If not, it is the norm of the
    /// logits.
    bool isOfLoss = true;
    /// For metrics whose passes differ from those above: their computation, and its cost as a multiple of a backward
    /// pass of all sequences through all layers.
    std::unique_ptr<GradientWork> (*work)(const Model& model, const GradientRun& run, const GradientScalars& scalars,
                                          const MetricRequest& request) = nullptr;
    double (*passes)(const Model& model, const GradientRun& run, const MetricRequest& request) = nullptr;
};

/// For metrics from runs without one unit at a time (ablation.h). MetricInfo::ranks is the kind of unit.
struct AblationMetric {
    const MetricInfo* ofAccuracy = nullptr; ///< title, unit and texts of the metric with of=accuracy
};

/// std::monostate: a metric from a session that this version does not know and cannot compute.
using MetricComputation = std::variant<std::monostate, WeightMetric, ForwardMetric, GradientMetric, AblationMetric>;

/// The units that a mask keeps in a layer. Indices count all units of the layer, including cut ones.
struct KeptUnits {
    std::vector<std::size_t> heads; ///< empty if attention computes no scores
    std::vector<std::size_t> neurons;
    bool block = true;

    KeptUnits(const LayerSpec& spec, const LayerMask& mask);
};

} // namespace secateur
