#pragma once

#include "analysis/base/progress.h"
#include "analysis/evaluation/perplexity.h"
#include "analysis/masks/pruning_mask.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/running/layer_inputs.h"
#include "analysis/running/runner.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

/// Computes the losses of sequences: for decoders at each next token, for classifiers at the label.
class SequenceLosses {
public:
    /// All arguments must outlive this object.
    /// @param pooled of an encoder without a head, the pooled outputs that it should have [sequences, hidden], float64.
    /// Half the squared distance from them then stands for the loss.
    /// @throws UsageError for encoders without a classifier or labels, if `pooled` is undefined; Error if there is no
    /// target
    SequenceLosses(const Model& model, std::span<const TokenSequence> sequences, std::span<const int> labels,
                   at::Tensor pooled = {});

    std::size_t sequences() const { return m_sequences.size(); }
    std::int64_t tokens() const; ///< number of tokens in all sequences

    /// For decoders: from now on, share * KL(plan || model) + (1 - share) * loss stands for the loss.
    /// @param batches of all sequences
    void compareWith(const Plan& plan, const PaddedBatches& batches, double share);

    /// @param x output of the last layer @param rows index of each row's sequence
    /// @returns a loss for each row; WindowLoss::index is the index of its sequence
    /// @throws Error if a loss is not finite; Cancelled
    std::vector<WindowLoss> of(const Plan& plan, const at::Tensor& x, const Batch& batch,
                               std::span<const std::size_t> rows, const Progress& progress) const;

private:
    std::vector<WindowLoss> ofLabels(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                     std::span<const std::size_t> rows) const;
    std::vector<WindowLoss> ofPooled(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                     std::span<const std::size_t> rows) const;
    std::vector<WindowLoss> ofComparison(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                         std::span<const std::size_t> rows) const;

    const Model& m_model;
    std::span<const TokenSequence> m_sequences;
    GradientScalars m_scalars;
    at::Tensor m_pooled;
    std::vector<TopTokens> m_predictions; ///< to compare with, of each sequence; empty = none
    double m_share = 0;                   ///< of the divergence from them
};

/// Mean loss per predicted token; of classifiers per labelled text.
double meanLoss(std::span<const WindowLoss> losses);

/// The text of a VariantWalk.
struct VariantText {
    std::span<const TokenSequence> sequences;
    std::span<const int> labels = {}; ///< for a classifier, the class of each sequence
    std::int64_t batchTokens = 4096;  ///< maximum tokens of a batch, including padding; a longer sequence runs alone
    std::int64_t waitingBytes =
        std::int64_t{1} << 30; ///< maximum of streams that wait for the next layers, if the plan is not resident
    at::Tensor pooled = {};    ///< for an encoder without a head, as for SequenceLosses
    /// For decoders: share * KL(dense model || model) + (1 - share) * loss stands for the loss.
    double divergenceShare = 0;
};

/// A mask of one layer in place of the plan's.
struct LayerVariant {
    LayerMask mask;        ///< has more cuts than the plan's mask of this layer
    std::size_t group = 0; ///< variants of different groups do not run in one batch, which would affect their rounding
};

/// Losses under masks that differ from a plan's mask in one layer. The residual stream under the plan enters the layer,
/// Runner::runVariants() computes the layer's output under each variant, and the variants run through the layers above.
class VariantWalk {
public:
    using Losses = std::vector<WindowLoss>; ///< a loss for each sequence

    /// All arguments must outlive this object, the plan until setPlan(). @throws as SequenceLosses
    VariantWalk(const Model& model, const Plan& plan, const VariantText& text);

    const SequenceLosses& losses() const { return m_losses; }
    /// Bytes of the residual streams of all batches in front of one layer.
    std::int64_t streamBytes() const;

    /// Goes on under another plan of the same type. Streams of layers below the first difference remain valid.
    void setPlan(const Plan& plan);
    /// Stores the inputs of every k-th layer from `firstLayer` to `lastLayer` when goTo() passes them, with k as small
    /// as `bytes` allows, so that goTo() can go back to these layers.
    void keepInputs(int firstLayer, int lastLayer, std::int64_t bytes);

    /// The losses under the plan. Runs the whole model. @throws Cancelled
    Losses whole(const Progress& progress) const { return whole(*m_plan, progress); }
    /// The losses under another plan of the same type. @throws Cancelled
    Losses whole(const Plan& plan, const Progress& progress) const;
    /// Runs the streams up to the input of a layer. It begins at the current layer, a stored one, or the embedding.
    /// @throws Cancelled
    void goTo(int layer, const Progress& progress);
    /// The losses under variants of the layer that goTo() reached. Layers that share its weights get the same mask.
    /// @param text what progress reports @throws Cancelled
    std::vector<Losses> under(std::span<const LayerVariant> variants, std::string_view text,
                              const Progress& progress) const;

private:
    /// Variants of one batch that run through the layers above as one batch.
    struct Stack {
        std::size_t batch = 0;
        std::vector<std::size_t> variants;
        std::vector<at::Tensor> streams;
    };
    class Tails;

    const PaddedBatches& batches() const { return m_inputs.batches(); }
    Losses noLosses() const { return Losses(m_losses.sequences()); }
    std::vector<Losses> sideBySide(std::span<const LayerVariant> variants, std::string_view text,
                                   const Progress& progress) const;
    Losses underOwnPlan(const LayerVariant& variant, const Progress& progress) const;
    std::size_t variantsAtOnce(std::size_t batch) const;
    std::size_t stacks(std::span<const LayerVariant> variants) const;

    const Model& m_model;
    const Plan* m_plan;
    VariantText m_text;
    SequenceLosses m_losses;
    LayerInputs m_inputs;
};

} // namespace secateur
