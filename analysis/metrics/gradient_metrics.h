#pragma once

#include "analysis/base/progress.h"
#include "analysis/metrics/metric.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
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

} // namespace secateur
