#pragma once

#include "analysis/running/backward_walk.h"
#include "analysis/metrics/metric.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace secateur {

/// Which scalar of a sequence is differentiated.
struct ScalarChoice {
    Scalarisation of = Scalarisation::taskLoss;
    /// Instead of the mean of the targets' losses their sum under random signs: a number from 0 on tells one drawing
    /// from another.
    std::optional<int> signs = {};
    bool operator==(const ScalarChoice&) const = default;
};

/// What the sequences of a text are differentiated by: decoders by the losses of the next tokens, classifiers by that
/// of the label.
class GradientScalars {
public:
    /// @param labels of a classifier, one for each sequence; empty = they are not known. All must outlive it.
    /// @throws Error when there is not one for each sequence
    GradientScalars(const Model& model, std::span<const TokenSequence> sequences, std::span<const int> labels);

    /// Targets of a sequence: tokens that follow others, or the label; 1 where no target counts.
    int targets(std::size_t sequence) const;
    bool hasTargets() const { return m_isDecoder || !m_labels.empty(); }

    /// What a request's option, or its metric, asks for. Where it asks for a loss by itself, and the texts have no
    /// labels, the norm of what the model says stands in (standsIn()).
    /// @throws UsageError when the model or the texts do not have what the option names
    Scalarisation scalarisation(const MetricRequest& request) const;
    bool standsIn(const MetricRequest& request) const;

    /// @param sequences of the rows of the batch
    BackwardScalar scalar(const ScalarChoice& choice, const Batch& batch, std::span<const std::size_t> sequences) const;

private:
    Scalarisation own(const MetricRequest& request) const;
    void decoderTargets(const ScalarChoice& choice, const Batch& batch, std::span<const std::size_t> sequences,
                        BackwardScalar& scalar) const;

    std::span<const TokenSequence> m_sequences;
    std::span<const int> m_labels;
    bool m_isDecoder;
    bool m_hasClassifier;
    std::string m_path;
};

} // namespace secateur
