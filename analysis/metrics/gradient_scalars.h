#pragma once

#include "analysis/metrics/metric.h"
#include "analysis/running/backward_walk.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace secateur {

/// The scalar of a sequence that is differentiated.
struct ScalarChoice {
    Scalarisation of = Scalarisation::taskLoss;
    /// If set, the sum of the targets' losses with random signs instead of their mean. Numbers from 0 on distinguish
    /// drawings.
    std::optional<int> signs = {};
    bool operator==(const ScalarChoice&) const = default;
};

/// The scalars of a text's sequences: of decoders from the losses of the next tokens, of classifiers from that of the
/// label (resources/manual/metrics.md, The scalar that is differentiated).
class GradientScalars {
public:
    /// @param labels of a classifier, one for each sequence; empty = not known. All must outlive it.
    /// @throws Error when their number is another one
    GradientScalars(const Model& model, std::span<const TokenSequence> sequences, std::span<const int> labels);

    /// Number of targets of a sequence: next tokens, or the label. 1 for encoders.
    int targets(std::size_t sequence) const;
    bool hasTargets() const { return m_isDecoder || !m_labels.empty(); }

    /// As the request's option says, or by default its metric. Where the default is a loss and the texts have no
    /// labels, the norm of the output replaces it (standsIn()).
    /// @throws UsageError when the model or the texts lack what the option names
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
