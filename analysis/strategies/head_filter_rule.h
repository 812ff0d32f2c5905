#pragma once

#include "analysis/base/head_id.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_spec.h"

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// For each [layer][head], whether it passes a filter.
using PassingHeads = std::vector<std::vector<bool>>;

/// The data on which conditions on heads are evaluated.
struct HeadFacts {
    const ModelSpec& spec;
    std::function<const MetricResult*(const std::string& resultId)> result; ///< returns null if not measured
    std::function<bool(HeadId)> isCut;
    std::function<bool(HeadId)> isProtected;
};

/// Conditions on heads, as the user writes them: "layer 3-12, sink_head > 0.5, not cut". A head passes if it meets all
/// conditions. Conditions are separated by commas or "and":
///   layer 3, layer 3-12, head 0-3
///   L3.H1 L3.H4: one of these heads
///   METRIC < NUMBER, and with <=, > and >=
///   METRIC lowest 10 %, METRIC highest 20: among all values of the metric
///   METRIC is CLASS, METRIC is not CLASS, pattern is CLASS (of attention_pattern)
///   cut, protected
/// "not" before a condition negates it. METRIC is a result id. If the metric has a value per layer or KV group, each
/// head has the value of its layer or group. A head without a value meets neither a condition on the metric nor the
/// negated condition.
class HeadRule {
public:
    /// A rule without conditions, which every head passes.
    HeadRule() = default;
    /// Parses conditions. @throws UsageError naming the first condition that cannot be parsed
    explicit HeadRule(std::string_view text);

    bool empty() const { return m_conditions.empty(); }
    /// Result ids of the metrics in the conditions.
    std::vector<std::string> metrics() const;
    /// Whether a condition is `cut` or `protected`. Edits of the mask or the protection then change which heads pass.
    bool asksForMask() const;
    /// The heads that pass. @throws Error if a metric is not measured
    PassingHeads passing(const HeadFacts& facts) const;

private:
    /// If a comment on a member begins with a name and a colon, only that kind of condition uses the member.
    struct Condition {
        enum class Kind { layers, heads, named, value, end, inClass, cut, isProtected };
        Kind kind = Kind::cut;
        bool isNegated = false;
        int first = 0; ///< layers, heads: first index of the range
        int last = 0;
        std::set<HeadId> named = {}; ///< named
        std::string metric = {};
        std::string relation = {};  ///< value: "<", "<=", ">" or ">="
        double number = 0;          ///< value: the limit; end: the number or percentage of values
        bool isPercentage = false;  ///< end: whether `number` is a percentage
        bool isHighest = false;     ///< end: true for "highest", false for "lowest"
        std::size_t whichClass = 0; ///< inClass
    };

    static Condition parse(std::vector<std::string> words);
    static Condition parseMetric(const std::vector<std::string>& words);
    static void apply(const Condition& condition, const HeadFacts& facts, PassingHeads& heads);

    std::vector<Condition> m_conditions;
};

/// The condition that these heads meet and no others: "layer 3-5, head 0-2" for a rectangle, else their names.
/// @param heads at least one
std::string ruleOf(const std::set<HeadId>& heads);

/// A result in which values of units that a filter leaves out are NaN: heads that fail; KV groups, attention sublayers
/// and blocks that contain a head that fails; MLPs and neurons of layers in which no head passes.
MetricResult resultOfPassing(MetricResult result, const ModelSpec& spec, const PassingHeads& heads);

} // namespace secateur
