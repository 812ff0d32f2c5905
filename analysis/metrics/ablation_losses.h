#pragma once

#include "analysis/metrics/ablation_parts.h"
#include "analysis/metrics/gradient_scalars.h"
#include "analysis/running/padded_batches.h"
#include "analysis/evaluation/perplexity.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace at {
class Tensor;
}

namespace secateur {

/// What a model loses on sequences: decoders at each token that follows others, classifiers at the label.
class SequenceLosses {
public:
    /// All must outlive it. @throws UsageError for encoders without a classifier or labels; Error when nothing is
    /// predicted
    SequenceLosses(const Model& model, std::span<const TokenSequence> sequences, std::span<const int> labels);

    std::size_t sequences() const { return m_sequences.size(); }
    std::int64_t tokens() const; ///< of all sequences

    /// From what leaves the last layer. @param rows sequences of the rows of the batch @returns one loss for each row,
    /// `index` its sequence @throws Error when one is not finite; Cancelled
    std::vector<WindowLoss> of(const Plan& plan, const at::Tensor& x, const Batch& batch,
                               std::span<const std::size_t> rows, const Progress& progress) const;

private:
    std::vector<WindowLoss> ofLabels(const Plan& plan, const at::Tensor& x, const Batch& batch,
                                     std::span<const std::size_t> rows) const;

    const Model& m_model;
    std::span<const TokenSequence> m_sequences;
    GradientScalars m_scalars;
};

/// How much more one run loses than another on the same sequences, per prediction. @param run, reference by sequence
AblationEffect riseOf(const std::vector<WindowLoss>& run, const std::vector<WindowLoss>& reference);

} // namespace secateur
