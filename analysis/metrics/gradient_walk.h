#pragma once

#include "analysis/metrics/gradient_metrics.h"
#include "analysis/metrics/gradient_sums.h"
#include "analysis/metrics/measure_stages.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

PaddedBatches batchesOf(const Model& model, const BatchRule& rule, const GradientRun& run);

/// The computation of all requests that use the same batches. These requests share backward passes.
class GradientWalk : public GradientWork {
public:
    /// All arguments must outlive this object.
    /// @param requests of metrics with this rule and without GradientMetric::work @throws UsageError
    GradientWalk(const Model& model, const GradientRun& run, const GradientScalars& scalars, const BatchRule& rule,
                 std::span<const MetricRequest> requests);

    void run(const Progress& progress, const std::function<void()>& more) override;
    std::vector<double> values(std::size_t request, int layer) const override;
    std::int64_t tokens() const override { return m_tokens; }
    std::int64_t sequences() const override { return m_sequences; }
    std::int64_t allTokens() const override;
    std::size_t passes() const { return m_passes.size(); }

private:
    std::size_t passOf(const ScalarChoice& choice);
    void plan(const MetricRequest& request);
    void runTogether(const Progress& progress);
    void runBatches(std::size_t begin, std::size_t end, const Progress& progress,
                    const std::function<void(std::size_t first, std::size_t end)>& finished);
    void countBatches(std::size_t first, std::size_t end);
    void mergeRows(LossGradient& top, std::size_t pass) const;

    const Model& m_model;
    const GradientRun& m_run;
    const GradientScalars& m_scalars;
    BatchRule m_rule;
    std::span<const MetricRequest> m_requests;
    PaddedBatches m_batches;
    std::vector<GradientPass> m_passes;
    std::vector<std::vector<std::size_t>> m_passesOf; ///< for each request, indices in m_passes
    std::unique_ptr<GradientSums> m_sums;
    std::int64_t m_tokens = 0;
    std::int64_t m_sequences = 0;
};

} // namespace secateur
