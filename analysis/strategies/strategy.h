#pragma once

#include "analysis/masks/mask_algebra.h"
#include "analysis/masks/mask_record.h"
#include "analysis/metrics/metric.h"
#include "analysis/base/options.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace secateur {

/// One row of the strategy table: everything the lists and the documentation say of a strategy.
struct StrategyInfo {
    std::string_view id;
    std::string_view summary;
    std::string_view removes;
    std::string_view budget; ///< what it counts, in units and in per cent
    std::string_view source;
    std::span<const OptionInfo> options; ///< its own and those of the metric that it always ranks by
    bool isRandom = false;
    std::optional<CutUnit> unit; ///< of random strategies; a ranking one cuts what its metric is of
    std::string_view metric;     ///< that it ranks by; empty where an option chooses it, or none is needed
    bool measuresAgain = false;  ///< after each step, under what it has cut: pruneGreedily() runs it
    bool isInverse = false;      ///< cuts the end that the metric does not say
};

/// All strategies this build knows, in the order of the contract.
std::span<const StrategyInfo> allStrategies();
/// nullptr when there is none of that id
const StrategyInfo* findStrategy(std::string_view id);

/// A strategy with its options. Holds only options that differ from their defaults.
struct StrategyRequest {
    const StrategyInfo* info = nullptr;
    std::map<std::string, std::string> options; ///< the strategy's own
    std::optional<MetricRequest> metric;        ///< of ranking strategies

    /// Own options and the metric's.
    std::map<std::string, std::string> allOptions() const;
    /// "gate_norm:fold_norm=true": the key of a result everywhere (contract.md).
    std::string resultId() const;
    /// Of the strategy's own: its value, or its default.
    std::string option(std::string_view name) const;
    bool flag(std::string_view name) const { return option(name) == "true"; }
    CutUnit unit() const;
    /// Whether the units of highest value go first: the strategy's own end, or with reversed=true the other.
    bool highestFirst() const;
};

/// Reads "id[:key=value]...". What is no option of the strategy goes to its metric.
/// @throws UsageError listing what is known; when by_metric names no metric, or one that says not which end to cut or
/// of which sublayer
StrategyRequest parseStrategyRequest(std::string_view text);

/// "8" units or "12.5%". @throws UsageError
Budget parseBudget(std::string_view text);
/// As parseBudget() reads it.
std::string budgetText(const Budget& budget);

} // namespace secateur
