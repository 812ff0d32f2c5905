#pragma once

#include "analysis/metrics/metric.h"
#include "analysis/model/attention_feature.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// The values of one layer, by kept head (one value for metrics of the layer).
struct AttentionValues {
    std::vector<std::vector<double>> values; ///< one row, or one for each length; NaN where nothing was seen
    std::vector<std::vector<double>> features;
};

/// A metric of attention probabilities with its options (resources/manual/metrics.md, Attention sinks, patterns and
/// entropy): which numbers of each query it reads, and what it makes of them. Sums are additive: batches may come in
/// any order, and layers separately.
class AttentionMetric {
public:
    /// The attention of one row of a batch.
    struct Row {
        int length = 0; ///< tokens
        int heads = 0;
        bool causal = true;
        int window = 0;
        /// [length] of one head, of the feature at that place of features().
        std::function<const float*(int head, std::size_t feature)> numbers;
    };

    virtual ~AttentionMetric() = default;

    /// Numbers of each query that add() reads.
    const std::vector<AttentionFeature>& features() const { return m_features; }
    /// Of the prefixes that have values of their own; empty where whole sequences count.
    virtual std::vector<std::int64_t> lengths() const { return {}; }
    /// Names of AttentionValues::features.
    virtual std::span<const std::string_view> featureNames() const { return {}; }
    /// About options that these sequences do not allow.
    const std::vector<std::string>& warnings() const { return m_warnings; }

    virtual void add(const Row& row, std::vector<double>& sums) const = 0;
    virtual AttentionValues values(const std::vector<double>& sums, int heads) const = 0;

protected:
    /// @param firstQuery the first one that counts
    explicit AttentionMetric(int firstQuery)
        : m_firstQuery(firstQuery) {}
    /// Over the queries that count. @param isShare relative to the largest entropy that a query can have
    double meanOver(const Row& row, int head, std::size_t feature, bool isShare) const;

    int m_firstQuery;
    std::vector<AttentionFeature> m_features;
    std::vector<std::string> m_warnings;
};

// The functions that rows name as ForwardMetric::attention.
// @throws UsageError for options that make no sense, or not for a bidirectional model
std::unique_ptr<const AttentionMetric> sinkOfHeads(const MetricRequest& request, std::int64_t longest, bool causal);
std::unique_ptr<const AttentionMetric> sinkOfLayers(const MetricRequest& request, std::int64_t longest, bool causal);
std::unique_ptr<const AttentionMetric> sinkVariation(const MetricRequest& request, std::int64_t longest, bool causal);
std::unique_ptr<const AttentionMetric> attentionPattern(const MetricRequest& request, std::int64_t longest,
                                                        bool causal);
std::unique_ptr<const AttentionMetric> attentionEntropy(const MetricRequest& request, std::int64_t longest,
                                                        bool causal);

/// The classes of attentionPattern().
std::span<const std::string_view> patternClasses();

} // namespace secateur
