#pragma once

#include "analysis/base/options.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_spec.h"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

struct PruneContext;
struct PruneRequest;
struct PruneResult;
struct StrategyRequest;

/// The end of a ranking that a strategy cuts.
enum class CutEnd { none, lowest, highest, ofMetric };

/// One row of the strategy table: everything the lists and the documentation say of a strategy, what it needs, and what
/// it does.
struct StrategyInfo {
    std::string_view id;
    std::string_view summary;
    std::string_view removes;
    std::string_view budget; ///< what it counts, in units and in per cent
    std::string_view source;
    /// Makes the mask (prune.h). @throws as prune()
    PruneResult (&run)(const PruneContext& context);

    CutEnd end = CutEnd::none;
    std::span<const OptionInfo> options = {}; ///< its own; allOptions() adds those of its metric
    std::optional<CutUnit> unit = {};         ///< that it cuts; absent = the unit of its metric
    std::string_view metric = {};             ///< id of the metric that it always ranks by
    bool needsMetricOption = false;           ///< ranks by the metric that the option `metric` names
    bool needsSeed = false;                   ///< the mask depends on PruneRequest::seed
    double passesPerStep = 0;                 ///< through the model over the calibration text, for each of `steps`
    /// Into how many steps a budget falls, of a strategy that measures on a calibration text while it cuts; null =
    /// needs no such text. @throws UsageError when the budget cannot be met
    std::size_t (*steps)(const ModelSpec& spec, const PruneRequest& request) = nullptr;
    /// Checks what the types of its options do not say. @throws UsageError
    void (*check)(const StrategyRequest& request) = nullptr;
};

/// All strategies, in the order in which lists show them. resources/manual/strategies.md defines them.
std::span<const StrategyInfo> allStrategies();
/// nullptr when there is none of that id
const StrategyInfo* findStrategy(std::string_view id, std::span<const StrategyInfo> table = allStrategies());
/// The strategy that cuts that end of a metric's ranking in steps and measures the metric again after each; nullptr
/// when there is none.
const StrategyInfo* stepwiseStrategy(std::string_view metricId, bool highestFirst,
                                     std::span<const StrategyInfo> table = allStrategies());
/// Its own options, then those of the metric that it always ranks by.
std::vector<OptionInfo> allOptions(const StrategyInfo& strategy);
/// The table of the manual, in Markdown, a line for each strategy.
std::string strategyTable(std::span<const StrategyInfo> table = allStrategies());

/// A strategy with its options. Holds only options that differ from their defaults.
struct StrategyRequest {
    const StrategyInfo* info = nullptr;
    std::map<std::string, std::string> options; ///< the strategy's own
    std::optional<MetricRequest> metric;        ///< that it ranks by

    /// Own options and the metric's.
    std::map<std::string, std::string> allOptions() const;
    /// "gate_norm:fold_norm=true": strategy and options in one word (resources/manual/formats.md, Result ids).
    std::string resultId() const;
    /// Value of one of the strategy's own options, or its default.
    std::string option(std::string_view name) const;
    bool flag(std::string_view name) const { return option(name) == "true"; }
    CutUnit unit() const;
    /// Whether the units of highest value are cut first: the row's end, or with reversed=true the other.
    bool highestFirst() const;
};

/// Reads "id[:key=value]...". Options that the strategy does not have go to its metric.
/// @throws UsageError listing what is known; when the option `metric` names no metric, one without a pruning direction
/// or one that ranks no unit
StrategyRequest parseStrategyRequest(std::string_view text, std::span<const StrategyInfo> table = allStrategies());

/// The strategy that cuts by any metric, from whichever end. @throws UsageError as parseStrategyRequest()
StrategyRequest byMetric(const MetricRequest& metric, bool highestFirst, bool perLayer);

/// Reads "8" (units) or "12.5%". @throws UsageError
Budget parseBudget(std::string_view text);
/// As parseBudget() reads it.
std::string budgetText(const Budget& budget);

} // namespace secateur
