#pragma once

#include "analysis/model/attention_feature.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_spec.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace secateur {

/// What one metric of a layer comes to, by kept heads (one value where it is of the layer).
struct AttentionValues {
    std::vector<std::vector<double>> values; ///< one, or one for each length; NaN where nothing was seen
    std::vector<std::vector<double>> features;
};

/// A metric of attention maps with its options (methods.md 3): which numbers of each query it needs, and what becomes
/// of them. Sums are additive, so that batches may come in any order and layers apart.
class AttentionMetric {
public:
    /// The attention of one row of a batch.
    struct Row {
        int length = 0; ///< tokens
        int heads = 0;
        bool causal = true;
        int window = 0;
        /// [length] of one head, of the feature in that place of features().
        std::function<const float*(int head, std::size_t feature)> numbers;
    };

    /// @param longest tokens of the longest sequence @throws UsageError for options that make no sense, or not for a
    /// model whose tokens see what follows them
    AttentionMetric(const MetricRequest& request, std::int64_t longest, bool causal);

    /// Numbers of each query that are needed.
    const std::vector<AttentionFeature>& features() const { return m_features; }
    /// Of the prefixes that have values of their own; empty where whole sequences count.
    std::vector<std::int64_t> lengths() const;
    /// On what was asked for and cannot be had of these sequences.
    const std::vector<std::string>& warnings() const { return m_warnings; }

    void add(const Row& row, std::vector<double>& sums) const;
    AttentionValues values(const std::vector<double>& sums, int heads) const;

private:
    enum class Kind { sinkHead, sinkLayer, variation, pattern, entropy };

    void chooseLengths(std::int64_t longest, bool causal);
    void chooseFeatures();
    std::vector<std::int64_t> prefixes(int length) const;
    double sink(const Row& row, int head, std::size_t prefix, std::int64_t length) const;
    double meanOver(const Row& row, int head, std::size_t feature, bool isShare) const;
    void addSinks(const Row& row, std::vector<double>& sums) const;
    void addEntropy(const Row& row, std::vector<double>& sums) const;
    void addPattern(const Row& row, std::vector<double>& sums) const;
    int classOf(double sink, double diagonal, double entropy) const;
    double margin(double sink, double diagonal, double entropy) const;
    AttentionValues variationValues(const std::vector<double>& sums, int heads) const;
    AttentionValues patternValues(const std::vector<double>& sums, int heads) const;

    Kind m_kind;
    std::string m_wantedLengths;
    bool m_hasOwnLengths; ///< not the default ones
    int m_key;
    int m_firstQuery;
    int m_band;
    bool m_visibleOnly;
    bool m_normalised;
    double m_leastSink;
    double m_leastDiagonal;
    double m_leastUniform;
    AttentionFeature m_entropy;
    std::vector<std::int64_t> m_lengths;
    std::vector<AttentionFeature> m_features;
    std::vector<std::string> m_warnings;
};

/// Names of attention_pattern's classes, and of what else it tells of each head.
std::span<const std::string_view> patternClasses();
std::span<const std::string_view> patternFeatures();

} // namespace secateur
