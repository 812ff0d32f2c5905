#pragma once

#include "analysis/base/progress.h"
#include "analysis/metrics/metric.h"
#include "analysis/running/backward_walk.h"
#include "analysis/text/sequences.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace secateur {

/// The table rows of the metrics from gradients on a text.
std::span<const MetricInfo> gradientMetrics();

/// How sequences are put into batches.
struct BatchRule {
    int rows = 0;            ///< sequences of a batch, in order; 0 = by similar length, as many as batchTokens allow
    bool mergesRows = false; ///< whether one scalar of the whole batch is differentiated instead of one of each row

    bool operator==(const BatchRule&) const = default;
};
BatchRule batchRuleOf(const MetricRequest& request);

/// Computes values of heads for one or more requests. The values become more precise during the computation.
class GradientWork {
public:
    virtual ~GradientWork() = default;

    /// @param more called after values have changed @throws Cancelled
    virtual void run(const Progress& progress, const std::function<void()>& more) = 0;
    /// The current values of a layer's kept heads.
    virtual std::vector<double> values(std::size_t request, int layer) const = 0;
    virtual std::int64_t tokens() const = 0;    ///< number of tokens that values() covers
    virtual std::int64_t sequences() const = 0; ///< number of sequences that values() covers
    virtual std::int64_t allTokens() const = 0; ///< number of tokens that values() covers once run() has finished
    virtual std::vector<std::string> warnings() const { return {}; }
};

/// Computes the metric self_attribution (self_attribution.cpp). @throws UsageError for encoders without a classifier
std::unique_ptr<GradientWork> selfAttribution(const Model& model, const GradientRun& run,
                                              const GradientScalars& scalars, const MetricRequest& request);
double selfAttributionPasses(const Model& model, const GradientRun& run, const MetricRequest& request);

/// The scalar of a sequence that is differentiated.
struct ScalarChoice {
    Scalarisation of = Scalarisation::taskLoss;
    /// If set, the scalar is the sum of the losses of the targets with random signs, instead of their mean. The value
    /// is the number of the drawing of signs, counted from 0.
    std::optional<int> signs = {};
    bool operator==(const ScalarChoice&) const = default;
};

/// The scalars of a text's sequences: of decoders from the losses of next tokens, of classifiers from the loss of the
/// label (resources/manual/metrics.md, The scalar that is differentiated).
class GradientScalars {
public:
    /// All arguments must outlive this object. @param labels of a classifier, one for each sequence; empty = not known
    /// @throws Error if there are labels, but not one for each sequence
    GradientScalars(const Model& model, std::span<const TokenSequence> sequences, std::span<const int> labels);

    /// Number of targets of a sequence: next tokens, or the label. 1 for encoders.
    int targets(std::size_t sequence) const;
    bool hasTargets() const { return m_isDecoder || !m_labels.empty(); }

    /// The scalarisation that the request's option states, or the default of its metric. If the default is a loss and
    /// the texts have no labels, the norm of the output is used instead (standsIn()).
    /// @throws UsageError if the scalarisation needs labels or a model part that are missing
    Scalarisation scalarisation(const MetricRequest& request) const;
    /// Whether the norm of the output replaces the default loss.
    bool standsIn(const MetricRequest& request) const;

    /// @param sequences index of each row's sequence
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
