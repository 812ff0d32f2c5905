#include "analysis/strategies/strategy.h"

#include "analysis/base/known_ids.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/strategies/greedy_gnorm.h"
#include "analysis/strategies/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace secateur {

namespace {

constexpr OptionInfo perLayer{
    "per_layer", "bool", "false",
    "apply the budget to each layer by itself; layers in which nothing can be cut are skipped"};
constexpr OptionInfo reversed{"reversed", "bool", "false", "prune from the other end of the ranking (coherence check)"};
constexpr OptionInfo metric{"metric", "text", "", "id of the metric to rank by; further options go to the metric"};

constexpr OptionInfo perStep{"per_step", "integer", "1", "heads to cut before the metric is measured again"};
constexpr OptionInfo stop{
    "stop", "text", "budget",
    "where to stop: budget = when the budget is spent; floor:X = earlier, before the model is more "
    "than X worse than without these cuts, in accuracy or nats/token; knee = at the step whose "
    "quality lies farthest below the line from the first step to the last"};

constexpr std::array randomOptions{perLayer};
constexpr std::array chosenMetricOptions{metric, perLayer, reversed};
constexpr std::array rankingOptions{perLayer, reversed};
constexpr std::array greedyOptions{perStep, reversed, stop};

constexpr double passesPerGreedyStep = 3.5; ///< on average half a forward pass, and a backward pass, which counts as 3

constexpr StrategyInfo randomStrategy(std::string_view id, std::string_view summary, std::string_view removes,
                                      std::string_view budget, CutUnit unit) {
    return {.id = id,
            .summary = summary,
            .removes = removes,
            .budget = budget,
            .source = "baseline",
            .run = runRandom,
            .options = randomOptions,
            .unit = unit,
            .needsSeed = true};
}

constexpr StrategyInfo greedyStrategy(std::string_view id, std::string_view summary, CutEnd end) {
    return {.id = id,
            .summary = summary,
            .removes = "heads",
            .budget = "heads; per cent of all in the model",
            .source = "Greedy-Gnorm paper",
            .run = runGreedily,
            .end = end,
            .options = greedyOptions,
            .metric = "gnorm",
            .passesPerStep = passesPerGreedyStep,
            .steps = greedySteps,
            .check = checkGreedyOptions};
}

constexpr std::array strategies{
    StrategyInfo{.id = "gate_norm",
                 .summary = "Attention sublayers with the smallest gate-norm, the norm of W_qᵀ W_k",
                 .removes = "attention sublayers",
                 .budget = "attention sublayers; per cent of all in the model",
                 .source = "Gate-Norm paper",
                 .run = runRanking,
                 .end = CutEnd::ofMetric,
                 .options = rankingOptions,
                 .metric = "gate_norm"},
    greedyStrategy("gnorm_greedy", "Heads with the smallest gradient norm, measured again after each step",
                   CutEnd::lowest),
    greedyStrategy("gnorm_inverse",
                   "Heads with the largest gradient norm, measured again after each step: the control for gnorm_greedy",
                   CutEnd::highest),
    randomStrategy("random_head", "Heads drawn uniformly at random", "heads", "heads; per cent of all in the model",
                   CutUnit::head),
    randomStrategy("random_neuron", "MLP neurons drawn uniformly at random", "neurons",
                   "neurons; per cent of all in the model", CutUnit::neuron),
    randomStrategy("random_attention", "Attention sublayers drawn uniformly at random", "attention sublayers",
                   "attention sublayers; per cent of all in the model", CutUnit::attention),
    randomStrategy("random_mlp", "MLP sublayers drawn uniformly at random", "MLPs",
                   "MLPs; per cent of all in the model", CutUnit::mlp),
    randomStrategy("random_block", "Blocks drawn uniformly at random", "blocks", "blocks; per cent of all in the model",
                   CutUnit::block),
    StrategyInfo{.id = "by_metric",
                 .summary = "Units with the lowest or the highest values of a metric, whichever are pruned first",
                 .removes = "the units that the metric ranks: heads, KV groups, neurons, attention sublayers, MLPs or "
                            "blocks",
                 .budget = "units of that kind; per cent of all in the model",
                 .source = "any metric of `list metrics`",
                 .run = runRanking,
                 .end = CutEnd::ofMetric,
                 .options = chosenMetricOptions,
                 .needsMetricOption = true},
};

/// The metric that a strategy ranks by; null if it needs none.
const MetricInfo* metricOf(const StrategyInfo& info, const ParsedRequest& parsed) {
    if (!info.needsMetricOption)
        return findMetric(info.metric);
    const auto named = parsed.options.find("metric");
    if (named == parsed.options.end())
        throw UsageError("needs metric=ID, one of `list metrics`", parsed.id);
    const MetricRequest request = parseMetricRequests(named->second).front();
    if (request.info->id != named->second)
        throw UsageError(fmt::format("metric={} is a group of metrics; name one metric", named->second), parsed.id);
    if (request.info->pruneFirst == PruneFirst::neither)
        throw UsageError(fmt::format("metric={} has no pruning direction", named->second), parsed.id);
    unitOf(*request.info);
    return request.info;
}

bool isOwn(const StrategyInfo& info, const std::string& option) {
    return std::ranges::find(info.options, option, &OptionInfo::name) != info.options.end();
}

/// Checks options beyond their types.
void checkValues(const StrategyRequest& request) {
    if (request.metric)
        checkOptions(*request.metric);
    if (request.info->check)
        request.info->check(request);
}

std::string direction(CutEnd end) {
    switch (end) {
    case CutEnd::none:
        return "";
    case CutEnd::lowest:
        return "low";
    case CutEnd::highest:
        return "high";
    case CutEnd::ofMetric:
        break;
    }
    return "of the metric";
}

/// A row of the table in the manual.
std::string tableRow(const StrategyInfo& strategy) {
    const MetricInfo* const ranked = findMetric(strategy.metric);
    std::vector<std::string> options;
    for (const OptionInfo& option : strategy.options)
        options.push_back(fmt::format("`{}={}`", option.name, option.defaultValue));
    if (ranked)
        options.push_back(fmt::format("those of `{}`", ranked->id));
    else if (strategy.needsMetricOption)
        options.emplace_back("those of the metric");
    const std::string needs = ranked                       ? std::string(name(ranked->needs))
                              : strategy.needsMetricOption ? "as the metric"
                                                           : "";
    const std::string end =
        ranked && strategy.end == CutEnd::ofMetric ? std::string(name(ranked->pruneFirst)) : direction(strategy.end);
    std::string row = "|";
    for (const std::string& cell :
         {fmt::format("`{}`", strategy.id), std::string(strategy.summary), std::string(strategy.removes),
          std::string(strategy.budget), end, needs, join(options, ", ")})
        row += cell.empty() ? " |" : fmt::format(" {} |", cell);
    return row + "\n";
}

} // namespace

std::span<const StrategyInfo> allStrategies() {
    return strategies;
}

const StrategyInfo* findStrategy(std::string_view id, std::span<const StrategyInfo> table) {
    const auto found = std::ranges::find(table, id, &StrategyInfo::id);
    return found == table.end() ? nullptr : &*found;
}

const StrategyInfo* stepwiseStrategy(std::string_view metricId, bool highestFirst,
                                     std::span<const StrategyInfo> table) {
    const CutEnd end = highestFirst ? CutEnd::highest : CutEnd::lowest;
    const auto found = std::ranges::find_if(table, [&](const StrategyInfo& strategy) {
        return strategy.steps && strategy.metric == metricId && strategy.end == end;
    });
    return found == table.end() ? nullptr : &*found;
}

std::vector<OptionInfo> allOptions(const StrategyInfo& strategy) {
    std::vector<OptionInfo> all(strategy.options.begin(), strategy.options.end());
    if (const MetricInfo* const ranked = findMetric(strategy.metric))
        all.insert(all.end(), ranked->options.begin(), ranked->options.end());
    return all;
}

std::string strategyTable(std::span<const StrategyInfo> table) {
    std::string text = "| id | summary | removes | budget counts | direction | needs | options |\n"
                       "| --- | --- | --- | --- | --- | --- | --- |\n";
    for (const StrategyInfo& strategy : table)
        text += tableRow(strategy);
    return text;
}

std::map<std::string, std::string> StrategyRequest::allOptions() const {
    std::map<std::string, std::string> all = options;
    if (metric)
        all.insert(metric->options.begin(), metric->options.end());
    return all;
}

std::string StrategyRequest::resultId() const {
    std::string id(info->id);
    for (const auto& [option, value] : allOptions())
        id += fmt::format(":{}={}", option, value);
    return id;
}

std::string StrategyRequest::option(std::string_view name) const {
    return optionValue(options, info->options, name);
}

CutUnit StrategyRequest::unit() const {
    return info->unit ? *info->unit : unitOf(*metric->info);
}

bool StrategyRequest::highestFirst() const {
    const bool ofMetric = metric && metric->info->pruneFirst == PruneFirst::high;
    const bool own = info->end == CutEnd::ofMetric ? ofMetric : info->end == CutEnd::highest;
    return own != flag("reversed");
}

StrategyRequest parseStrategyRequest(std::string_view text, std::span<const StrategyInfo> table) {
    ParsedRequest parsed = parseRequest(text);
    const StrategyInfo* const info = findStrategy(parsed.id, table);
    if (!info)
        refuseUnknown("strategy", parsed.id, idsOf(table));
    const MetricInfo* const ranked = metricOf(*info, parsed);
    std::vector<OptionInfo> known(info->options.begin(), info->options.end());
    if (ranked)
        known.insert(known.end(), ranked->options.begin(), ranked->options.end());
    validateOptions(parsed, known);
    StrategyRequest request{info, {}, {}};
    if (ranked)
        request.metric.emplace(MetricRequest{ranked, {}});
    for (const auto& [option, value] : parsed.options)
        (isOwn(*info, option) ? request.options : request.metric->options).emplace(option, value);
    checkValues(request);
    return request;
}

StrategyRequest byMetric(const MetricRequest& metric, bool highestFirst, bool perLayer) {
    StrategyRequest request = parseStrategyRequest(fmt::format("by_metric:metric={}", metric.info->id));
    request.metric = metric;
    if (perLayer)
        request.options["per_layer"] = "true";
    if (highestFirst != request.highestFirst())
        request.options["reversed"] = "true";
    return request;
}

Budget parseBudget(std::string_view text) {
    Budget budget;
    std::string_view digits = text;
    if (digits.ends_with('%')) {
        budget.isPercentage = true;
        digits.remove_suffix(1);
    }
    const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), budget.amount);
    if (failure != std::errc() || end != digits.data() + digits.size() || !(budget.amount >= 0) ||
        !std::isfinite(budget.amount))
        throw UsageError(fmt::format("\"{}\" is neither a number of units (8) nor a share (12.5%)", text), "--budget");
    return budget;
}

std::string budgetText(const Budget& budget) {
    return exactly(budget.amount) + (budget.isPercentage ? "%" : "");
}

} // namespace secateur
