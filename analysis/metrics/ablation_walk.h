#pragma once

#include "analysis/evaluation/perplexity.h"
#include "analysis/metrics/ablation.h"
#include "analysis/metrics/gradient_metrics.h"
#include "analysis/running/padded_batches.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

/// Computes the losses of sequences: for decoders at each next token, for classifiers at the label.
class SequenceLosses {
public:
    /// All arguments must outlive this object. @throws UsageError for encoders without a classifier or labels; Error if
    /// there is no target
    SequenceLosses(const Model& model, std::span<const TokenSequence> sequences, std::span<const int> labels);

    std::size_t sequences() const { return m_sequences.size(); }
    std::int64_t tokens() const; ///< number of tokens in all sequences

    /// @param x output of the last layer @param rows index of each row's sequence
    /// @returns a loss for each row; WindowLoss::index is the index of its sequence
    /// @throws Error if a loss is not finite; Cancelled
    std::vector<WindowLoss> of(const Plan& plan, const at::Tensor& x, const Batch& batch,
                               std::span<const std::size_t> rows, const Progress& progress) const;

private:
    std::vector<WindowLoss> ofLabels(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                     std::span<const std::size_t> rows) const;

    const Model& m_model;
    std::span<const TokenSequence> m_sequences;
    GradientScalars m_scalars;
};

/// The paired difference of the mean losses of two runs on the same sequences: run minus reference.
/// @param run, reference a loss for each sequence
AblationEffect riseOf(const std::vector<WindowLoss>& run, const std::vector<WindowLoss>& reference);

/// Runs the residual streams of the whole model from layer to layer. At each layer, runs the rest of the model without
/// one of the layer's units at a time.
class AblationWalk {
public:
    /// All arguments must outlive this object. @throws as measureAblation()
    AblationWalk(const Model& model, const AblationRun& run);

    /// Computes the whole model's losses, and the inputs of the first layer. @throws Cancelled
    void begin(const Progress& progress);
    /// Runs the streams up to the input of a layer. @param layer the current layer or a later one @throws Cancelled
    void goTo(int layer, const Progress& progress);
    /// The effect of removing each part alone.
    /// @param parts units of the layer that goTo() reached, all of one request. Parts that run in one batch affect each
    /// other's rounding, and values must not depend on other requests
    std::vector<AblationEffect> without(const std::vector<AblationPart>& parts, const Progress& progress);

    const SequenceLosses& losses() const { return m_losses; }

private:
    /// Variants of one batch that run through the layers above as one batch.
    struct Stack {
        std::size_t batch = 0;
        std::vector<std::size_t> parts;
        std::vector<at::Tensor> streams;
    };
    class Tails;

    using Losses = std::vector<WindowLoss>; ///< a loss for each sequence
    Losses noLosses() const { return Losses(m_losses.sequences()); }
    std::vector<Losses> sideBySide(const std::vector<AblationPart>& parts, const Progress& progress);
    Losses underOwnPlan(const AblationPart& part, const Progress& progress) const;
    std::size_t variantsAtOnce(std::size_t batch) const;
    std::size_t stacks(const std::vector<AblationPart>& parts) const;

    const Model& m_model;
    const AblationRun& m_run;
    SequenceLosses m_losses;
    PaddedBatches m_batches;
    int m_layer = 0;
    std::vector<at::Tensor> m_streams; ///< for each batch, the input of layer m_layer
    Losses m_dense;
};

} // namespace secateur
