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

/// The values of one layer: a value for each kept head, or a single value for metrics of layers.
struct AttentionValues {
    std::vector<std::vector<double>> values;   ///< one row, or one for each of lengths(); NaN if no query was counted
    std::vector<std::vector<double>> features; ///< one row for each of featureNames()
};

/// A metric of attention probabilities with its options (resources/manual/metrics.md, Attention sinks, patterns and
/// entropy). It requests features of the attention of each query, sums them over queries (add()), and computes its
/// values from the sums (values()). Sums are additive: batches may come in any order, and layers separately.
class AttentionMetric {
public:
    /// The attention of one row of a batch.
    struct Row {
        int length = 0; ///< number of tokens
        int heads = 0;
        bool causal = true;
        int window = 0;
        /// The values of features()[feature] for the queries of a head, [length].
        std::function<const float*(int head, std::size_t feature)> numbers;
    };

    virtual ~AttentionMetric() = default;

    /// The features of the attention of each query that add() reads.
    const std::vector<AttentionFeature>& features() const { return m_features; }
    /// Lengths of the prefixes of sequences for which separate values are computed. Empty = only values over whole
    /// sequences.
    virtual std::vector<std::int64_t> lengths() const { return {}; }
    /// Names of AttentionValues::features.
    virtual std::span<const std::string_view> featureNames() const { return {}; }
    /// Warnings about options that do not fit the sequences.
    const std::vector<std::string>& warnings() const { return m_warnings; }

    virtual void add(const Row& row, std::vector<double>& sums) const = 0;
    virtual AttentionValues values(const std::vector<double>& sums, int heads) const = 0;

protected:
    /// @param firstQuery position of the first query that is counted
    explicit AttentionMetric(int firstQuery)
        : m_firstQuery(firstQuery) {}
    /// Mean of a feature over the queries that are counted.
    /// @param isShare whether to divide each value by the largest possible entropy: the logarithm of the number of keys
    /// that the query sees. Queries that see a single key are then left out
    double meanOver(const Row& row, int head, std::size_t feature, bool isShare) const;

    int m_firstQuery;
    std::vector<AttentionFeature> m_features;
    std::vector<std::string> m_warnings;
};

// Functions for ForwardMetric::attention in rows of the metric table.
// @throws UsageError for options that make no sense, in general or for a bidirectional model
std::unique_ptr<const AttentionMetric> sinkOfHeads(const MetricRequest& request, std::int64_t longest, bool causal);
std::unique_ptr<const AttentionMetric> sinkOfLayers(const MetricRequest& request, std::int64_t longest, bool causal);
std::unique_ptr<const AttentionMetric> sinkVariation(const MetricRequest& request, std::int64_t longest, bool causal);
std::unique_ptr<const AttentionMetric> attentionPattern(const MetricRequest& request, std::int64_t longest,
                                                        bool causal);
std::unique_ptr<const AttentionMetric> attentionEntropy(const MetricRequest& request, std::int64_t longest,
                                                        bool causal);

/// Names of the classes that attentionPattern() assigns.
std::span<const std::string_view> patternClasses();

} // namespace secateur
