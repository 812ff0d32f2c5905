#pragma once

#include "analysis/base/progress.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/running/batch.h"
#include "analysis/running/layer_observer.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

/// The dtype of matrix products. Norms, softmax, rotation, losses and the residual stream are float32 in every dtype.
enum class ComputeType { automatic, float32, bfloat16, float16 };

std::string_view name(ComputeType type);
/// The dtype with this name. @throws Error that lists the known dtypes
ComputeType computeTypeOf(std::string_view name);

/// A model under a mask, ready to run. It has the converted weights without cut units, on the device. The weights of a
/// layer are converted when they are first needed, and freed if memory is short. Plans share layers whose masks are
/// equal. Immutable. A plan can be used only with the Runner that made it.
class Plan {
public:
    virtual ~Plan() = default;

    const PruningMask& mask() const { return m_mask; }
    ComputeType type() const { return m_type; } ///< never ComputeType::automatic
    /// The reason for the type if it was chosen automatically: "float32: ..."; otherwise empty.
    const std::string& reason() const { return m_reason; }
    /// Whether all layers fit the memory budget together. If not, runs should go layer by layer (forEachLayer()).
    bool isResident() const { return m_isResident; }

protected:
    Plan(PruningMask mask, ComputeType type, std::string reason, bool isResident)
        : m_mask(std::move(mask))
        , m_type(type)
        , m_reason(std::move(reason))
        , m_isResident(isResident) {}

private:
    PruningMask m_mask;
    ComputeType m_type;
    std::string m_reason;
    bool m_isResident;
};

struct LayerGradients;
struct LossGradient;
struct OutputGradient;
struct PlanAdapters; // plan_adapters.h
class RecordedLayer;

/// Keys and values of all layers at the positions that have run. Only one caller at a time may use it.
class KvCache {
public:
    virtual ~KvCache() = default;
    virtual int rows() const = 0;
    virtual int capacity() const = 0; ///< maximum number of positions
    virtual std::int64_t bytes() const = 0;
    /// Copies the first `positions` positions of a row of another cache to the beginning of a row of this cache. Both
    /// must belong to the same plan and layers. @throws Error if either cache is too small, or they belong to different
    /// masks
    virtual void begin(int row, const KvCache& from, int fromRow, int positions) = 0;
};

/// Losses at the positions of a batch, row after row. They are 0 and false at positions without a target.
struct TokenLosses {
    std::vector<float> nats;          ///< -log probability of the target
    std::vector<std::uint8_t> greedy; ///< whether the target is the likeliest token
};

/// The most probable tokens at some positions, and their log probabilities. With the class of all other tokens their
/// probabilities add up to 1.
struct TopTokens {
    int count = 0;                       ///< tokens of a position, at most the vocabulary
    std::vector<int> tokens;             ///< [positions * count] the most probable first
    std::vector<float> logProbabilities; ///< [positions * (count + 1)] the last is that of all other tokens together;
                                         ///< -infinity if there is none
    bool operator==(const TopTokens&) const = default;
};

/// A comparison with the predictions of a dense model at some positions.
struct DenseComparison {
    std::vector<float> nats;       ///< losses at the targets
    std::vector<float> divergence; ///< KL(dense || model) in nats
};

/// Appends the positions of other tokens. Both have the same count.
void append(TopTokens& to, const TopTokens& more);

/// A teacher's probabilities at the targets of a batch, for decoders. The loss of a target is then (1 - W)
/// cross-entropy + W KL(teacher || model), over the teacher's tokens and the class of all others.
struct TeacherTargets {
    double weight = 0; ///< W, from 0 to 1
    TopTokens top;     ///< at the positions with a target, in the order of the batch
};

/// The scalar per row whose gradient lossGradient() computes (see The scalar that is differentiated in
/// resources/manual/metrics.md).
enum class Scalarisation {
    taskLoss,        ///< weighted sum of the losses at the targets; classifiers: weighted cross-entropy of the label
    logitNorm,       ///< Euclidean norm of all logits of the row
    goldLogProb,     ///< weighted sum of the log probabilities of the targets
    pooledNorm,      ///< Euclidean norm of the pooled output; encoders only
    goldProbability, ///< weighted sum of the probabilities of the targets
};

/// Runs a model one layer at a time. A layer maps the residual stream X_l [rows, positions, hidden] to X_(l+1), in
/// float32 on the model's device. Any thread may call const functions. Padded positions of a stream contain arbitrary
/// finite values. All functions throw Error for batches that do not fit the model.
class Runner {
public:
    using VariantSink = std::function<void(std::size_t variant, const at::Tensor& output)>;
    using BackwardSink = std::function<void(std::size_t output, LayerGradients found)>;

    virtual ~Runner() = default;

    /// Plans the model under a mask. @throws Error if the mask does not fit, or the device does not support the type
    virtual std::shared_ptr<const Plan> plan(const PruningMask& mask,
                                             ComputeType type = ComputeType::automatic) const = 0;
    /// A float32 plan that uses trained tensors beside the weights of the model. runVariants() does not support it.
    /// @throws Error as plan()
    virtual std::shared_ptr<const Plan> planWith(std::shared_ptr<const PlanAdapters> adapters,
                                                 const PruningMask& mask) const = 0;

    /// The first residual stream, X_0. @throws Error for tokens outside the vocabulary and positions beyond the learned
    /// ones
    virtual at::Tensor embed(const Plan& plan, const Batch& batch) const = 0;

    /// Runs a layer and returns X_(layer+1). With a cache, the batch continues the positions in the cache, and its keys
    /// and values are appended.
    virtual at::Tensor runLayer(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                                KvCache* cache = nullptr, LayerObserver* observer = nullptr) const = 0;

    /// Runs all layers as runLayer() does, with the same numbers, and returns the last stream. Faster for steps of
    /// generation. @param begins called before each layer, and with 0 before weights are made; may throw
    virtual at::Tensor runLayers(const Plan& plan, const at::Tensor& x, const Batch& batch, KvCache& cache,
                                 const std::function<void(int layer)>& begins) const;

    /// Computes X_(layer+1) under several masks of this layer. Each mask must have more cuts than that of the plan.
    /// Common parts are computed once. The sink receives the outputs one after the other, and may store them.
    virtual void runVariants(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                             std::span<const LayerMask> variants, const VariantSink& sink) const = 0;

    /// Runs a layer again with its graph, and computes a vector-Jacobian product for each element of `outputs`. The
    /// sink receives the results one after the other, and may store them.
    /// @param attentionScales [rows] factors of the attention probabilities of all heads; empty = 1
    virtual void backwardEach(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                              std::span<const OutputGradient> outputs, const BackwardSink& sink,
                              std::span<const float> attentionScales = {}) const = 0;
    /// Runs a layer and stores its graph, so that the backward pass need not run the layer again.
    /// @param wanted all taps whose gradients RecordedLayer::backwardEach() may request
    virtual std::unique_ptr<RecordedLayer> recordLayer(const Plan& plan, int layer, const at::Tensor& x,
                                                       const Batch& batch, std::span<const Tap> wanted) const = 0;
    /// Approximate upper bound, for any mask, of the bytes of a recorded layer in addition to its input and output.
    virtual std::int64_t recordedBytes(int layer, const Batch& batch, std::span<const Tap> wanted) const = 0;
    /// Bytes that a run may take beside the converted weights. The largest number if they are not limited.
    virtual std::int64_t freeBytes() const { return std::numeric_limits<std::int64_t>::max(); }
    /// backwardEach() for one gradient of the output, dOutput [rows, positions, hidden].
    LayerGradients backward(const Plan& plan, int layer, const at::Tensor& x, const Batch& batch,
                            const at::Tensor& dOutput, std::span<const Tap> wanted,
                            std::span<const float> attentionScales = {}) const;

    /// Logits in float32. For decoders [rows, positions, vocab], or [rows, vocab] at the last position of each row that
    /// is not padding. For classifiers [rows, classes]. For encoders without a classifier, the pooled output [rows,
    /// hidden].
    virtual at::Tensor lmHead(const Plan& plan, const at::Tensor& x, const Batch& batch,
                              bool lastPositionOnly = false) const = 0;

    /// Losses at the targets, for decoders only. Computed in chunks, so that the logits of all positions are never in
    /// memory at once.
    /// @param targets [rows * positions], -1 = no target
    virtual TokenLosses losses(const Plan& plan, const at::Tensor& x, const Batch& batch,
                               std::span<const int> targets) const = 0;

    /// The most probable tokens at the positions with a target, in the order of the batch, for decoders only. Computed
    /// in chunks, as losses().
    /// @param targets [rows * positions], -1 = no target @param count tokens of a position
    virtual TopTokens topTokens(const Plan& plan, const at::Tensor& x, const Batch& batch, std::span<const int> targets,
                                int count) const = 0;

    /// Losses and divergences at the positions with a target, in the order of the batch, for decoders only. Divergences
    /// are those of the tokens of `dense` and the class of all other tokens. Computed in chunks, as losses().
    /// @param targets [rows * positions], -1 = no target @param dense of the same positions @throws Error if it is not
    virtual DenseComparison comparison(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                       std::span<const int> targets, const TopTokens& dense) const = 0;

    /// The scalars of the rows, and the gradient of their sum with respect to x.
    /// @param targets for decoders [rows * positions], -1 = no target; for classifiers the labels [rows]; otherwise
    /// empty
    /// @param weights weights of the targets; empty = 1 for each
    /// @param teacher for Scalarisation::taskLoss of decoders; null = none
    virtual LossGradient lossGradient(const Plan& plan, const at::Tensor& x, const Batch& batch, Scalarisation of,
                                      std::span<const int> targets, std::span<const float> weights,
                                      const TeacherTargets* teacher = nullptr) const = 0;

    /// An empty cache. @param layer the only layer to cache, for runs that go layer by layer; empty = all layers
    /// @throws Error for encoders
    virtual std::unique_ptr<KvCache> cache(const Plan& plan, int rows, int capacity,
                                           std::optional<int> layer = {}) const = 0;
};

/// Callbacks of forEachLayer(). Each of them may be empty.
struct LayerWalk {
    int firstLayer = 0;
    /// Returns X_firstLayer of a batch. Empty = the embedding; firstLayer must then be 0.
    std::function<at::Tensor(std::size_t batch)> start;
    /// Called before a layer with its input X_layer.
    std::function<void(int layer, std::size_t batch, const at::Tensor& input)> enters;
    /// Runs a batch through a layer and returns the output; empty = Runner::runLayer().
    std::function<at::Tensor(int layer, std::size_t batch, const at::Tensor& input)> runs;
    /// Called after a layer with its output X_(layer+1).
    std::function<void(int layer, std::size_t batch, const at::Tensor& output)> passed;
    /// Called with the output of the last layer.
    std::function<void(std::size_t batch, const at::Tensor& output)> finished;
    LayerObserver* observer = nullptr;
};

/// Runs batches from `firstLayer` to the last layer. With a resident plan, batches run one after another. Otherwise all
/// batches go through a layer before the next layer begins, so that each weight is read and converted only once.
/// @throws Cancelled, within the time that one layer takes for one batch
void forEachLayer(const Runner& runner, const Plan& plan, std::span<const Batch> batches, const LayerWalk& walk,
                  const Progress& progress = {});

} // namespace secateur
