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

/// The rows of metrics that need a text and gradients of a scalar of it.
std::span<const MetricInfo> gradientMetrics();

/// How sequences are put into batches.
struct BatchRule {
    int rows = 0;            ///< in order, this number in each; 0 = of like lengths, as many as batchTokens allow
    bool mergesRows = false; ///< the gradient is that of one scalar of the whole batch

    bool operator==(const BatchRule&) const = default;
};
BatchRule batchRuleOf(const MetricRequest& request);

/// Work that gives values of heads for one or more requests, and more precise ones while it runs.
class GradientWork {
public:
    virtual ~GradientWork() = default;

    /// @param more is called when values have changed @throws Cancelled
    virtual void run(const Progress& progress, const std::function<void()>& more) = 0;
    /// Of a layer's kept heads, so far.
    virtual std::vector<double> values(std::size_t request, int layer) const = 0;
    virtual std::int64_t tokens() const = 0;    ///< that are complete
    virtual std::int64_t sequences() const = 0; ///< likewise
    virtual std::int64_t allTokens() const = 0; ///< of its sequences
    virtual std::vector<std::string> warnings() const { return {}; }
};

/// self_attribution (self_attribution.cpp). @throws UsageError for encoders without a classifier
std::unique_ptr<GradientWork> selfAttribution(const Model& model, const GradientRun& run,
                                              const GradientScalars& scalars, const MetricRequest& request);
double selfAttributionPasses(const Model& model, const GradientRun& run, const MetricRequest& request);

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
