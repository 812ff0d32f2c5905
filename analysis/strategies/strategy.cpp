#include "analysis/strategies/strategy.h"

#include "analysis/strategies/cut_lowest.h"
#include "analysis/strategies/greedy_stop.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace secateur {

namespace {

constexpr OptionInfo perLayer{"per_layer", "bool", "false",
                              "the budget is for each layer by itself; where nothing can be cut, nothing is"};
constexpr OptionInfo reversed{"reversed", "bool", "false",
                              "cut the other end first: a ranking that means something does much worse so"};
constexpr OptionInfo metric{"metric", "text", "", "id of the metric to rank by; further options go to it"};

constexpr OptionInfo perStep{"per_step", "integer", "1", "heads that it cuts before it measures again"};
constexpr OptionInfo stop{
    "stop", "text", "budget",
    "where it ends, at the budget at the latest: budget; floor:X = before it is more than X worse "
    "than without its cuts, in accuracy or nats a token; knee = where the curve bends most"};

constexpr std::array randomOptions{perLayer};
constexpr std::array chosenMetricOptions{metric, perLayer, reversed};
constexpr std::array rankingOwnOptions{perLayer, reversed};
constexpr std::array greedyOptions{perStep, reversed, stop};

/// Own options of a strategy that ranks by one metric, and that metric's.
const std::vector<OptionInfo>& rankingOptions(std::string_view metricId, std::span<const OptionInfo> strategys) {
    static std::map<std::string, std::vector<OptionInfo>, std::less<>> known;
    auto found = known.find(metricId);
    if (found == known.end()) {
        std::vector<OptionInfo> options(strategys.begin(), strategys.end());
        const auto own = findMetric(metricId)->options;
        options.insert(options.end(), own.begin(), own.end());
        found = known.emplace(metricId, std::move(options)).first;
    }
    return found->second;
}

std::vector<StrategyInfo> makeStrategies() {
    std::vector<StrategyInfo> table{
        {"gate_norm",
         "Attention sublayers whose queries and keys multiply to the smallest matrix",
         "attention sublayers",
         "attention sublayers; per cent of all in the model",
         "Gate-Norm paper; methods.md 1.1",
         rankingOptions("gate_norm", rankingOwnOptions),
         false,
         {},
         "gate_norm"},
        {"gnorm_greedy",
         "The head whose gradients are smallest, one after the other: measured again after each",
         "heads",
         "heads; per cent of all in the model",
         "Greedy-Gnorm paper; methods.md 4.2",
         rankingOptions("gnorm", greedyOptions),
         false,
         {},
         "gnorm",
         true},
        {"gnorm_inverse",
         "The head whose gradients are largest, one after the other: what gnorm_greedy is held against",
         "heads",
         "heads; per cent of all in the model",
         "Greedy-Gnorm paper; methods.md 4.2",
         rankingOptions("gnorm", greedyOptions),
         false,
         {},
         "gnorm",
         true,
         true},
    };
    struct Random {
        std::string_view id, summary, removes, budget;
        CutUnit unit;
    };
    for (const Random& row : {
             Random{"random_head", "Heads drawn evenly", "heads", "heads; per cent of all in the model", CutUnit::head},
             Random{"random_neuron", "MLP neurons drawn evenly", "neurons", "neurons; per cent of all in the model",
                    CutUnit::neuron},
             Random{"random_attention", "Attention sublayers drawn evenly", "attention sublayers",
                    "attention sublayers; per cent of all in the model", CutUnit::attention},
             Random{"random_mlp", "MLPs drawn evenly", "MLPs", "MLPs; per cent of all in the model", CutUnit::mlp},
             Random{"random_block", "Blocks drawn evenly", "blocks", "blocks; per cent of all in the model",
                    CutUnit::block},
         })
        table.push_back({row.id, row.summary, row.removes, row.budget, "baseline", randomOptions, true, row.unit, {}});
    table.push_back({"by_metric",
                     "Whatever a metric is of, from the end that it says to cut first",
                     "heads, KV groups, neurons, attention sublayers, MLPs or blocks, as the metric is of",
                     "units of that kind; per cent of all in the model",
                     "any metric of `list metrics`",
                     chosenMetricOptions,
                     false,
                     {},
                     {}});
    return table;
}

/// All that a request may set, in the order that a refusal lists it.
std::vector<OptionInfo> knownOptions(const StrategyInfo& info, const MetricInfo* chosen) {
    std::vector<OptionInfo> known(info.options.begin(), info.options.end());
    if (chosen && info.metric.empty())
        known.insert(known.end(), chosen->options.begin(), chosen->options.end());
    return known;
}

/// The metric that a strategy is to rank by; nullptr where it needs none.
const MetricInfo* metricOf(const StrategyInfo& info, const ParsedRequest& parsed) {
    if (info.isRandom)
        return nullptr;
    if (!info.metric.empty())
        return findMetric(info.metric);
    const auto named = parsed.options.find("metric");
    if (named == parsed.options.end())
        throw UsageError("needs metric=ID, one of `list metrics`", parsed.id);
    const MetricRequest request = parseMetricRequests(named->second).front();
    if (request.info->id != named->second)
        throw UsageError(fmt::format("metric={} is a group, but it ranks by one metric", named->second), parsed.id);
    if (request.info->pruneFirst == PruneFirst::neither)
        throw UsageError(fmt::format("metric={} says not which end to cut first", named->second), parsed.id);
    unitOf(*request.info);
    return request.info;
}

bool isOwn(const StrategyInfo& info, const std::string& option) {
    const auto own = info.isRandom        ? std::span<const OptionInfo>(randomOptions)
                     : info.measuresAgain ? std::span<const OptionInfo>(greedyOptions)
                                          : std::span<const OptionInfo>(chosenMetricOptions);
    return std::ranges::any_of(own, [&](const OptionInfo& known) { return known.name == option; });
}

/// What types alone do not say of the options.
void checkValues(const StrategyRequest& request) {
    if (request.metric)
        checkOptions(*request.metric);
    if (!request.info->measuresAgain)
        return;
    greedyStopOf(request.option("stop"));
    perStepOf(request);
}

} // namespace

std::span<const StrategyInfo> allStrategies() {
    static const std::vector<StrategyInfo> strategies = makeStrategies();
    return strategies;
}

const StrategyInfo* findStrategy(std::string_view id) {
    const auto strategies = allStrategies();
    const auto found = std::ranges::find(strategies, id, &StrategyInfo::id);
    return found == strategies.end() ? nullptr : &*found;
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
    const bool own = metric && metric->info->pruneFirst == PruneFirst::high;
    return (own != info->isInverse) != flag("reversed");
}

StrategyRequest parseStrategyRequest(std::string_view text) {
    ParsedRequest parsed = parseRequest(text);
    const StrategyInfo* info = findStrategy(parsed.id);
    if (!info) {
        std::vector<std::string> known;
        for (const StrategyInfo& strategy : allStrategies())
            known.emplace_back(strategy.id);
        throw UsageError(fmt::format("unknown strategy; the known ones are {}", join(known, ", ")), parsed.id);
    }
    const MetricInfo* ranked = metricOf(*info, parsed);
    validateOptions(parsed, knownOptions(*info, ranked));
    StrategyRequest request{info, {}, {}};
    if (ranked)
        request.metric.emplace(MetricRequest{ranked, {}});
    for (const auto& [option, value] : parsed.options)
        (isOwn(*info, option) ? request.options : request.metric->options).emplace(option, value);
    checkValues(request);
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
