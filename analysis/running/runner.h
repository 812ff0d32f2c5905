#pragma once

#include "analysis/running/batch.h"
#include "analysis/running/layer_observer.h"
#include "analysis/running/plan.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

struct LayerGradients;
struct LossGradient;
struct OutputGradient;
class RecordedLayer;

/// Keys and values of the positions that ran already, of all layers. One user at a time.
class KvCache {
public:
    virtual ~KvCache() = default;
    virtual int rows() const = 0;
    virtual int capacity() const = 0; ///< positions
    virtual std::int64_t bytes() const = 0;
    /// A row begins with the first `positions` of a row of another cache of the same plan and layers, as if their
    /// tokens had run here. @throws Error when they are not there, or have no room
    virtual void begin(int row, const KvCache& from, int fromRow, int positions) = 0;
};

/// Of each position of a batch, row after row; 0 and false where there is no target.
struct TokenLosses {
    std::vector<float> nats;          ///< -log probability of the target
    std::vector<std::uint8_t> greedy; ///< whether the target is the likeliest token
};

/// What the scalar is whose gradient lossGradient() takes, for each row (methods.md 4.1).
enum class Scalarisation {
    taskLoss,    ///< weighted sum of the losses at the targets; classifiers: weight times cross-entropy of the label
    logitNorm,   ///< Euclidean norm of all logits of the row
    goldLogProb, ///< sum of the log probabilities of the targets, weighted
    pooledNorm,  ///< Euclidean norm of the pooled output: encoders
    goldProbability, ///< sum of the probabilities of the targets, weighted
};

/// Runs a model, one layer at a time: the residual stream X_l [rows, positions, hidden] goes in, X_(l+1) comes out, in
/// float32 on the model's device. Const calls may come from any thread; padded positions of a stream hold anything
/// finite. All throw Error for batches that do not fit the model.
class Runner {
public:
    using VariantSink = std::function<void(std::size_t variant, const at::Tensor& output)>;
    using BackwardSink = std::function<void(std::size_t pull, LayerGradients found)>;

    virtual ~Runner() = default;

    /// @throws Error when the mask does not fit, or the type cannot be had on this device
    virtual std::shared_ptr<const Plan> plan(const PruningMask& mask,
                                             ComputeType type = ComputeType::automatic) const = 0;

    /// X_0. @throws Error for tokens outside the vocabulary and positions beyond those the model has learned
    virtual at::Tensor embed(const Plan& plan, const Batch& batch) const = 0;

    /// X_(layer+1). With a cache the batch's positions follow those it holds, and join them.
    virtual at::Tensor runLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                                KvCache* cache = nullptr, LayerObserver* observer = nullptr) const = 0;

    /// X_(layer+1) under several masks of this layer that cut more than the plan does; what they share is computed
    /// once. Outputs are handed out one after the other and may be kept.
    virtual void runVariants(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                             std::span<const LayerMask> variants, const VariantSink& sink) const = 0;

    /// Runs a layer again with gradients, once, and pulls each gradient of what leaves it through. Results are handed
    /// out one after the other and may be kept.
    /// @param attentionScales [rows] what the attention probabilities of all heads are multiplied by; empty = 1
    virtual void backwardEach(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                              std::span<const OutputGradient> pulls, const BackwardSink& sink,
                              std::span<const float> attentionScales = {}) const = 0;
    /// Runs a layer so that gradients can go back through it without running it again.
    /// @param wanted every tap that a gradient will ask for
    virtual std::unique_ptr<RecordedLayer> recordLayer(const Plan& plan, int layer, const at::Tensor& x,
                                                       const Batch& batch, std::span<const Tap> wanted) const = 0;
    /// What a layer so recorded holds at most, roughly, whatever a mask cuts, beside its input and output.
    virtual std::int64_t recordedBytes(int layer, const Batch& batch, std::span<const Tap> wanted) const = 0;
    /// Of one gradient, dOutput [rows, positions, hidden].
    LayerGradients backward(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                            const at::Tensor& dOutput, std::span<const Tap> wanted,
                            std::span<const float> attentionScales = {}) const;

    /// Logits in float32. Decoders: [rows, positions, vocab], or of the last real position of each row alone, [rows,
    /// vocab]. Classifiers: [rows, classes]; encoders without a head: the pooled output, [rows, hidden].
    virtual at::Tensor lmHead(const Plan& plan, const at::Tensor& x, const Batch& batch,
                               bool lastPositionOnly = false) const = 0;

    /// Losses at the targets, in chunks: the logits of all positions never exist at once. Decoders only.
    /// @param targets [rows * positions], -1 = none
    virtual TokenLosses losses(const Plan& plan, const at::Tensor& x, const Batch& batch,
                               std::span<const int> targets) const = 0;

    /// @param targets decoders: [rows * positions], -1 = none; classifiers: labels [rows]; else empty
    /// @param weights of the targets; empty = 1 each
    virtual LossGradient lossGradient(const Plan& plan, const at::Tensor& x, const Batch& batch, Scalarisation of,
                                      std::span<const int> targets, std::span<const float> weights) const = 0;

    /// An empty cache, of one layer alone where one is named: for work that goes layer by layer.
    /// @throws Error for encoders
    virtual std::unique_ptr<KvCache> cache(const Plan& plan, int rows, int capacity,
                                           std::optional<int> layer = {}) const = 0;
};

} // namespace secateur
