#pragma once

#include "analysis/base/head_id.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_spec.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

/// Of each layer, which heads pass a filter: [layers][heads].
using PassingHeads = std::vector<std::vector<bool>>;

/// What a filter of heads asks.
struct HeadFacts {
    const ModelSpec& spec;
    std::function<const MetricResult*(const std::string& resultId)> result; ///< null = not measured
    std::function<bool(HeadId)> isCut;
    std::function<bool(HeadId)> isProtected;
};

/// Conditions on heads, all of which a head has to meet, as a person writes them: "layer 3-12, sink_head > 0.5, not
/// cut". By comma or "and":
///   layer 3, layer 3-12, head 0-3
///   METRIC < NUMBER, and with <=, > and >=
///   METRIC lowest 10 %, METRIC highest 20: among all of the model
///   METRIC is CLASS, METRIC is not CLASS, pattern is CLASS (of attention_pattern)
///   cut, protected
/// each of them after "not" for its opposite. A metric is a result id; of one with values per layer or KV group, a
/// head has that of its own. A head without a value meets no condition on it, nor the opposite.
class HeadRule {
public:
    /// Lets every head pass.
    HeadRule() = default;
    /// @throws UsageError on the first condition that cannot be read
    explicit HeadRule(std::string_view text);

    bool empty() const { return m_conditions.empty(); }
    /// Result ids that the conditions are about.
    std::vector<std::string> metrics() const;
    bool asksForMask() const;
    /// @throws Error when a metric is not measured
    PassingHeads passing(const HeadFacts& facts) const;

private:
    struct Condition {
        enum class Kind { layers, heads, value, end, inClass, cut, isProtected };
        Kind kind = Kind::cut;
        bool isNegated = false;
        int first = 0; ///< layers, heads
        int last = 0;
        std::string metric = {};
        std::string relation = {};  ///< value: "<", "<=", ">" or ">="
        double number = 0;          ///< value: the limit; end: how many
        bool isPercentage = false;  ///< end
        bool isHighest = false;     ///< end
        std::size_t whichClass = 0; ///< inClass
    };

    static Condition parse(std::vector<std::string> words);
    static Condition parseMetric(const std::vector<std::string>& words);
    static void apply(const Condition& condition, const HeadFacts& facts, PassingHeads& heads);

    std::vector<Condition> m_conditions;
};

/// A result without the values of cells that a filter leaves out: of heads, those that fail; of KV groups, attentions
/// and blocks, those that hold one that fails; of MLPs and neurons, those of layers in which none passes.
MetricResult resultOfPassing(MetricResult result, const ModelSpec& spec, const PassingHeads& heads);

} // namespace secateur
