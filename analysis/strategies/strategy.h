#pragma once

#include "analysis/base/options.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/metric.h"
#include "analysis/model/model_spec.h"

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace secateur {

class PrunePath;
class Progress;
struct PruneContext;
struct PruneRequest;
struct StrategyRequest;

/// The end of the ranking that a strategy cuts. `ofMetric`: the end that the metric's row states.
enum class CutEnd { none, lowest, highest, ofMetric };

/// A row of the strategy table. It contains the texts of a strategy for lists and documentation, its inputs, and the
/// function that makes its masks.
struct StrategyInfo {
    std::string_view id;
    std::string_view summary;
    std::string_view removes;
    std::string_view budget; ///< text: the units that a number counts, and the whole of which it is a percentage
    std::string_view source;
    /// Makes the path of the strategy's masks (prune.h), and measures what they have in common. @throws as prune()
    std::unique_ptr<PrunePath> (&begin)(const PruneContext& context, const Progress& progress);

    CutEnd end = CutEnd::none;
    std::span<const OptionInfo> options = {}; ///< the strategy's own options; allOptions() adds those of its metric
    std::optional<CutUnit> unit = {};         ///< unit that it cuts; empty = the unit that its metric ranks
    std::string_view metric = {};             ///< id of the metric that it always ranks by; empty = none
    bool needsMetricOption = false;           ///< whether it ranks by the metric that the option `metric` names
    bool needsSeed = false;                   ///< whether the mask depends on PruneRequest::seed
    bool readsText = false; ///< whether it measures on a calibration text by itself, not only through a metric
    /// Of strategies with readsText, whether a request measures on the text; null = every request does.
    bool (*needsText)(const StrategyRequest& request) = nullptr;
    /// Cost of a strategy with readsText, in forward passes over the text. @throws BudgetTooLarge
    double (*passes)(const ModelSpec& spec, const PruneRequest& request) = nullptr;
    /// For strategies that measure a metric again after each step: number of steps for the request's budget; at most
    /// this number for a budget in per cent of the model. @throws BudgetTooLarge
    std::size_t (*steps)(const ModelSpec& spec, const PruneRequest& request) = nullptr;
    std::string_view paperProtects = "none"; ///< protection that rules=paper adds, as text for Protection::parse()
    /// Checks options beyond their types. @throws UsageError
    void (*check)(const StrategyRequest& request) = nullptr;
    /// Metrics by which a strategy ranks both heads and neurons; empty = none.
    std::string_view headMetric = {};
    std::string_view neuronMetric = {};
    /// For strategies that use PruneRequest::seed with some options only.
    bool (*usesSeed)(const StrategyRequest& request) = nullptr;
    /// Whether a path measures anew for each budget, so that the costs of several budgets add up.
    bool measuresEachBudget = false;
    bool reportsSteps = false; ///< whether PruneInputs::watch follows it
};

/// All strategies, in the order in which lists show them. resources/manual/strategies.md defines them.
std::span<const StrategyInfo> allStrategies();
/// The row with this id; nullptr if there is none.
const StrategyInfo* findStrategy(std::string_view id, std::span<const StrategyInfo> table = allStrategies());
/// The strategy that cuts this end of a metric's ranking in steps and measures the metric again after each step. Null
/// if there is none.
const StrategyInfo* stepwiseStrategy(std::string_view metricId, bool highestFirst,
                                     std::span<const StrategyInfo> table = allStrategies());
/// The strategy's own options, then those of the metric that it always ranks by.
std::vector<OptionInfo> allOptions(const StrategyInfo& strategy);
/// The manual's table of strategies in Markdown.
std::string strategyTable(std::span<const StrategyInfo> table = allStrategies());

/// A strategy with its options. Contains only options that differ from their defaults.
struct StrategyRequest {
    const StrategyInfo* info = nullptr;
    std::map<std::string, std::string> options; ///< options of the strategy itself
    std::optional<MetricRequest> metric;        ///< the metric that it ranks by

    /// The strategy's own options and the metric's.
    std::map<std::string, std::string> allOptions() const;
    /// The strategy and its options as one word: "gate_norm:fold_norm=true" (resources/manual/formats.md, Result ids).
    std::string resultId() const;
    /// Value of one of the strategy's own options, or its default.
    std::string option(std::string_view name) const;
    bool flag(std::string_view name) const { return option(name) == "true"; }
    /// Whether the mask depends on PruneRequest::seed.
    bool needsSeed() const;
    /// Whether the strategy measures on a calibration text by itself.
    bool readsText() const { return info->readsText && (!info->needsText || info->needsText(*this)); }
    CutUnit unit() const;
    /// Whether the units with the highest values are cut first. StrategyInfo::end says so; reversed=true inverts it.
    bool highestFirst() const;
};

/// Parses "id[:key=value]...". Options that the strategy does not have belong to its metric.
/// @throws UsageError for unknown strategies and options, with the known ones; also if the option `metric` names no
/// metric, a metric without a pruning direction, or one that ranks no unit
StrategyRequest parseStrategyRequest(std::string_view text, std::span<const StrategyInfo> table = allStrategies());

/// Whether a strategy's masks depend on the calibration text, and on nothing that is drawn.
bool isCalibrated(const StrategyRequest& request);

/// A request for the strategy that cuts by any metric, from either end. @throws UsageError as parseStrategyRequest()
StrategyRequest byMetric(const MetricRequest& metric, bool highestFirst, bool perLayer);

} // namespace secateur
