#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace secateur {

// How a metric is computed: the functions that its row names (resources/manual/adding.md). A row has one of the four
// structures below, according to what it needs. Functions that may be absent are nullptr.

struct LayerMask;
struct LayerSpec;
struct MetricInfo;
struct MetricRequest;
class Model;
struct ModelSpec;

/// From the weights of one layer (weight_metrics.h).
class LayerWeights;
struct Estimate;

struct WeightMetric {
    /// Fills one value per cell of the layer.
    void (*compute)(LayerWeights& weights, const MetricRequest& request, std::span<double> cells);
    /// Whether a layer has the weights that compute() reads; other layers have no values.
    bool (*applies)(const LayerSpec& layer);
    /// A quick estimate of a layer's one value, where the exact one takes long; nothing where it does not.
    std::optional<Estimate> (*estimate)(LayerWeights& weights, const MetricRequest& request) = nullptr;
    /// Warnings about options that change nothing on this model, or about a value that means little for it.
    std::vector<std::string> (*notes)(const ModelSpec& spec, const MetricRequest& request) = nullptr;
};

/// From one pass over a text (layer_sums.h): sums over tokens for each layer, then values from these sums. Sums are
/// additive, so that batches may come in any order.
enum class Tap;
class AttentionMetric;
struct ForwardLayer;
struct ForwardPass;
struct TappedBatch;

/// Sums that are computed once for all metrics that read them.
enum class SharedSums {
    none,
    stream,        ///< lengths and cosines of the residual stream and its updates, token by token
    similarity,    ///< cosines between the tokens of a sequence at the layer's output
    context,       ///< columns of the output projection's input
    contributions, ///< norms of what each head adds
    neurons,       ///< columns of the down projection's input
};

struct ForwardMetric {
    SharedSums reads = SharedSums::none;
    /// A value for each kept unit of a layer, or the layer's one value; NaN = none. Not for metrics of attention.
    std::vector<double> (*finish)(const ForwardLayer& layer) = nullptr;
    /// Own sums besides the shared ones: the taps that accumulate() sees, and what a batch adds to `sums`.
    std::span<const Tap> taps = {};
    void (*accumulate)(const TappedBatch& batch, std::vector<double>& sums) = nullptr;
    /// Metrics of attention probabilities (attention_metrics.h), instead of the above.
    /// @param longest tokens of the longest sequence
    std::unique_ptr<const AttentionMetric> (*attention)(const MetricRequest& request, std::int64_t longest,
                                                        bool causal) = nullptr;
    std::vector<std::string> (*notes)(const ForwardPass& pass, const MetricRequest& request) = nullptr;
};

/// From backward passes over a text (gradient_metrics.h): sums over sequences for each head, then values.
enum class HeadSum;
struct BatchRule;
struct GradientLayer;
struct GradientRun;
class GradientScalars;
class GradientWork;

struct GradientMetric {
    /// Sums of each backward pass that finish() reads.
    std::vector<HeadSum> (*sums)(const MetricRequest& request) = nullptr;
    /// A value for each kept head of a layer.
    std::vector<double> (*finish)(const GradientLayer& layer) = nullptr;
    /// How sequences are put into batches; nullptr: as many of like length as fit.
    BatchRule (*batches)(const MetricRequest& request) = nullptr;
    /// Backward passes with random signs of the token losses; nullptr: one pass without signs.
    int (*drawings)(const MetricRequest& request) = nullptr;
    /// Whether the labels' loss is the default scalar of classifiers with labels; else the norm of their logits.
    bool isOfLoss = true;
    /// Work of its own instead of the above, and its cost in backward passes of all sequences through all layers.
    std::unique_ptr<GradientWork> (*work)(const Model& model, const GradientRun& run, const GradientScalars& scalars,
                                          const MetricRequest& request) = nullptr;
    double (*passes)(const Model& model, const GradientRun& run, const MetricRequest& request) = nullptr;
};

/// From runs without one unit at a time (ablation.h): of the unit that the row ranks.
struct AblationMetric {
    const MetricInfo* ofAccuracy = nullptr; ///< how the metric is described with of=accuracy
};

/// Metrics that a session holds and this version does not know have none.
using MetricComputation = std::variant<std::monostate, WeightMetric, ForwardMetric, GradientMetric, AblationMetric>;

/// The units of a layer that a mask keeps, by the model's numbers.
struct KeptUnits {
    std::vector<std::size_t> heads; ///< none where attention has no scores
    std::vector<std::size_t> neurons;
    bool block = true;

    KeptUnits(const LayerSpec& spec, const LayerMask& mask);
};

} // namespace secateur
