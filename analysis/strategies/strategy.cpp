#include "analysis/strategies/strategy.h"

#include "analysis/base/known_ids.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/strategies/amp.h"
#include "analysis/strategies/flap.h"
#include "analysis/strategies/greedy_gnorm.h"
#include "analysis/strategies/harp.h"
#include "analysis/strategies/loss_greedy.h"
#include "analysis/strategies/prune.h"
#include "analysis/strategies/ranking_path.h"
#include "analysis/strategies/search.h"
#include "analysis/strategies/second_order.h"
#include "analysis/strategies/structured_pruning.h"
#include "analysis/strategies/two_stage.h"

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

constexpr OptionInfo rules{
    "rules", "text", "none",
    "paper = add the protection of the strategy's paper (see the manual); none = only --protect protects"};

constexpr OptionInfo components{"components", "text", "both",
                                "what to cut: both = heads and neurons; heads; mlp = neurons"};
constexpr OptionInfo ampOrder{
    "order", "text", "standard",
    "which units go: standard = smallest scores first; reversed = largest first; random = drawn with --seed, the same "
    "numbers in each layer (coherence check)"};
constexpr OptionInfo rounding{
    "rounding", "text", "code",
    "how neurons make up for the rounding of heads: code = as the authors' code, one neuron for each head; exact = by "
    "parameters"};

constexpr std::array ampOptions{components, ampOrder, rounding, rules};
constexpr std::array structuredOptions{components, reversed, rules};
constexpr OptionInfo screenLosses{"screen", "bool", "true",
                                  "measure all losses in the first step only, later those that may be the lowest"};
constexpr OptionInfo unitsToCut{"units", "text", "heads",
                                "kinds of units to cut: heads, attention, mlps, blocks, separated by /"};

constexpr std::array randomOptions{perLayer};
constexpr std::array chosenMetricOptions{metric, perLayer, reversed};
constexpr std::array rankingOptions{perLayer, reversed, rules};
constexpr std::array greedyOptions{perStep, reversed, rules, stop};
constexpr std::array lossGreedyOptions{screenLosses, unitsToCut};
constexpr std::array searchOptions{
    OptionInfo{
        "divergence", "number", "1",
        "weight of the KL divergence from the dense model in the price of a step, 1 - that of the loss; decoders "
        "only"},
    OptionInfo{"for", "text", "none",
               "layout of an export that must hold the mask: none, native, per_layer, decilm, deci or openelm"},
    OptionInfo{"mu", "number", "0.3", "ridge of the restored weights, in multiples of the mean diagonal"},
    OptionInfo{"order", "text", "wanda",
               "which heads and neurons of a layer go first: wanda = smallest Wanda score; obs = least error after the "
               "update of the others; or ids of metrics of heads and of neurons, separated by /"},
    OptionInfo{"refit", "bool", "true",
               "in the end, fit the restored weights of all layers again, unless the measured cost rises by a tenth"},
    OptionInfo{"restore", "text", "weights",
               "weights = fit the kept weights of the projection again at each step; none = leave them"},
    OptionInfo{"step", "number", "0.17", "share of a layer's heads or neurons that a step cuts, at least one"},
    OptionInfo{"swaps", "bool", "true",
               "in the end, exchange the last steps of layers for others while the measured cost falls"},
    OptionInfo{"units", "text", "heads/neurons/attention/mlps/blocks/bypass",
               "kinds of steps: heads, neurons, attention, mlps, blocks, bypass, separated by /"}};
constexpr std::array secondOrderOptions{
    OptionInfo{"passes", "integer", "4", "number of backward passes with random signs of the token losses"},
    OptionInfo{"refresh", "integer", "10", "parts of the budget, each with new gradients"},
    OptionInfo{"units", "text", "heads/neurons",
               "kinds of units to cut: heads, neurons, attention, mlps, blocks, separated by /"}};
constexpr std::array harpOptions{
    OptionInfo{
        "alpha", "text", "search",
        "factor of each bypass: search = the one of 0, 0.1, ..., 1 with the lowest loss, layer by layer from the "
        "highest down; fixed = `value` for all; list = `values`"},
    OptionInfo{"corpus", "text", "", "file on which alpha is searched; empty = the last quarter of the text"},
    OptionInfo{"metric", "text", "", "with position=by_metric: id of the metric of layers"},
    OptionInfo{"mlp", "text", "none", "strategy that also cuts MLP neurons, before the search; none = no neurons"},
    OptionInfo{"mlp_ratio", "number", "0.0186", "share of the neurons that this strategy cuts"},
    OptionInfo{"position", "text", "top",
               "layers to bypass: top, middle, bottom, or by_metric = those that `metric` cuts first"},
    OptionInfo{"value", "number", "0.2", "with alpha=fixed: the factor"},
    OptionInfo{"values", "text", "", "with alpha=list: the factors, last layer first, separated by /"}};

constexpr StrategyInfo randomStrategy(std::string_view id, std::string_view summary, std::string_view removes,
                                      std::string_view budget, CutUnit unit) {
    return {.id = id,
            .summary = summary,
            .removes = removes,
            .budget = budget,
            .source = "baseline",
            .begin = beginRandom,
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
            .begin = beginGreedy,
            .end = end,
            .options = greedyOptions,
            .metric = "gnorm",
            .readsText = true,
            .passes = greedyPasses,
            .steps = greedySteps,
            .check = checkGreedyOptions};
}

/// A strategy that measures a metric once, on the dense model, and cuts from one end of its ranking.
constexpr StrategyInfo rankingStrategy(std::string_view id, std::string_view summary, std::string_view removes,
                                       std::string_view budget, std::string_view source, std::string_view metric,
                                       CutEnd end = CutEnd::ofMetric, std::string_view paperProtects = "none") {
    return {.id = id,
            .summary = summary,
            .removes = removes,
            .budget = budget,
            .source = source,
            .begin = beginRanking,
            .end = end,
            .options = rankingOptions,
            .metric = metric,
            .paperProtects = paperProtects};
}

constexpr std::string_view headBudget = "heads; per cent of all in the model";
constexpr std::string_view attentionBudget = "attention sublayers; per cent of all in the model";
constexpr std::string_view mlpBudget = "MLPs; per cent of all in the model";
constexpr std::string_view blockBudget = "blocks; per cent of all in the model";

constexpr StrategyInfo positionalStrategy(std::string_view id, std::string_view summary, CutEnd end) {
    return {.id = id,
            .summary = summary,
            .removes = "blocks",
            .budget = blockBudget,
            .source = "baseline of the BOS-sink paper",
            .begin = beginByPlace,
            .end = end,
            .unit = CutUnit::block};
}

constexpr std::string_view flapRepository = "An et al. 2024 (FLAP's repository); baseline of the BOS-sink paper";
constexpr std::string_view structuredBudget =
    "heads of the widest layer (neurons with components=mlp), and the same share in every layer; per cent of the heads "
    "and neurons of each layer";

constexpr StrategyInfo ampStrategy{
    .id = "amp",
    .summary = "Heads and neurons with the smallest activations, the same numbers in every layer",
    .removes = "heads and neurons",
    .budget = "layer equivalents: mean parameters of a layer; per cent of all parameters of the model",
    .source = "AMP paper",
    .begin = beginAmp,
    .end = CutEnd::lowest,
    .options = ampOptions,
    .check = checkAmpOptions,
    .headMetric = "amp_head",
    .neuronMetric = "amp_neuron",
    .usesSeed = drawsAmpOrder};

constexpr StrategyInfo magnitudeStrategy{
    .id = "mag_sp",
    .summary = "Heads and neurons with the smallest columns of output and down projection, a share of each layer",
    .removes = "heads and neurons",
    .budget = structuredBudget,
    .source = flapRepository,
    .begin = beginMagnitude,
    .end = CutEnd::lowest,
    .options = structuredOptions,
    .paperProtects = "first_last",
    .check = checkStructuredOptions,
    .headMetric = "mag_sp_head",
    .neuronMetric = "mag_sp_neuron"};

constexpr StrategyInfo wandaStrategy{
    .id = "wanda_sp",
    .summary = "Heads and neurons with the smallest Wanda scores, a share of each layer, each layer scored behind the "
               "cuts below it",
    .removes = "heads and neurons",
    .budget = structuredBudget,
    .source = flapRepository,
    .begin = beginWanda,
    .end = CutEnd::lowest,
    .options = structuredOptions,
    .readsText = true,
    .passes = wandaPasses,
    .paperProtects = "first_last",
    .check = checkStructuredOptions,
    .headMetric = "wanda_sp_head",
    .neuronMetric = "wanda_sp_neuron"};

constexpr StrategyInfo flapStrategy{
    .id = "flap",
    .summary = "Heads and neurons of all layers whose inputs fluctuate least, with biases that make up for their means",
    .removes = "heads and neurons",
    .budget = "weighted units: 1 for a neuron, for a head its parameters in neurons; per cent of all weighted units",
    .source = "An et al. 2024 (FLAP)",
    .begin = beginFlap,
    .end = CutEnd::lowest,
    .options = structuredOptions,
    .readsText = true,
    .passes = flapPasses,
    .check = checkFlapOptions,
    .headMetric = "flap_head",
    .neuronMetric = "flap_neuron"};

constexpr std::array strategies{
    rankingStrategy("gate_norm", "Attention sublayers with the smallest gate-norm, the norm of W_qᵀ W_k",
                    "attention sublayers", attentionBudget, "Gate-Norm paper", "gate_norm"),
    rankingStrategy("attention_importance",
                    "Attention sublayers that change the direction of the residual stream least (data-driven pruning)",
                    "attention sublayers", attentionBudget,
                    "He et al. 2024 (LLM-Drop); baseline of the Gate-Norm paper", "attention_importance"),
    rankingStrategy("mlp_importance", "MLPs that change the direction of the residual stream least", "MLPs", mlpBudget,
                    "He et al. 2024 (LLM-Drop)", "mlp_importance"),
    rankingStrategy("block_influence", "Blocks that change the direction of the residual stream least (ShortGPT)",
                    "blocks", blockBudget, "Men et al. 2024 (ShortGPT); baseline of the BOS-sink paper",
                    "block_influence"),
    rankingStrategy("sink_head", "Heads with the highest BOS sink score", "heads", headBudget, "BOS-sink paper",
                    "sink_head", CutEnd::ofMetric, "first_last"),
    rankingStrategy("sink_block", "Blocks with the highest mean BOS sink score", "blocks", blockBudget,
                    "BOS-sink paper", "sink_layer", CutEnd::ofMetric, "first_last"),
    rankingStrategy("entropy", "Heads with the largest attention entropy", "heads", headBudget,
                    "baseline AE of the Greedy-Gnorm paper", "attention_entropy", CutEnd::highest),
    rankingStrategy("entropy_inverse", "Heads with the smallest attention entropy: the control for entropy", "heads",
                    headBudget, "baseline of the Greedy-Gnorm paper", "attention_entropy", CutEnd::lowest),
    greedyStrategy("gnorm_greedy", "Heads with the smallest gradient norm, measured again after each step",
                   CutEnd::lowest),
    greedyStrategy("gnorm_inverse",
                   "Heads with the largest gradient norm, measured again after each step: the control for gnorm_greedy",
                   CutEnd::highest),
    ampStrategy,
    magnitudeStrategy,
    wandaStrategy,
    flapStrategy,
    StrategyInfo{.id = "harp",
                 .summary = "Queries and keys of the last layers, replaced by a bypass with a searched factor",
                 .removes = "queries and keys of attention sublayers; the whole sublayer where the factor is 0",
                 .budget = "attention sublayers; per cent of all in the model",
                 .source = "HARP paper",
                 .begin = beginHarp,
                 .options = harpOptions,
                 .readsText = true,
                 .needsText = harpReadsText,
                 .passes = harpPasses,
                 .check = checkHarpOptions},
    StrategyInfo{.id = "two_stage",
                 .summary = "Neurons with the smallest activations, then attention sublayers greedily (2SSP)",
                 .removes = "neurons and attention sublayers",
                 .budget = "per cent of the parameters of attention and MLPs",
                 .source = "Sandri et al. 2025 (2SSP)",
                 .begin = beginTwoStage,
                 .readsText = true,
                 .passes = twoStagePasses},
    StrategyInfo{.id = "loss_greedy",
                 .summary = "Units whose removal leaves the lowest loss, measured again after each step",
                 .removes = "heads, attention sublayers, MLPs or blocks",
                 .budget = "units of these kinds; per cent of all in the model",
                 .source = "greedy search on the measured loss",
                 .begin = beginLossGreedy,
                 .options = lossGreedyOptions,
                 .readsText = true,
                 .passes = lossGreedyPasses,
                 .check = checkLossGreedyOptions},
    StrategyInfo{.id = "search",
                 .summary = "Steps in any layer with the lowest measured loss for what they save, each with restored "
                            "weights",
                 .removes = "heads, neurons, attention sublayers, MLPs, blocks, and queries and keys",
                 .budget = "per cent of the parameters of attention and MLPs",
                 .source = "Secateur: greedy search on the measured loss with restoration",
                 .begin = beginSearch,
                 .options = searchOptions,
                 .readsText = true,
                 .passes = searchPasses,
                 .check = checkSearchOptions,
                 .reportsSteps = true},
    StrategyInfo{.id = "second_order",
                 .summary =
                     "Units whose removal raises the loss least by gradients, which are taken again in each tenth "
                     "of the budget",
                 .removes = "heads, neurons, attention sublayers, MLPs or blocks",
                 .budget = "units of these kinds; per cent of all in the model",
                 .source = "second-order prediction of a mask",
                 .begin = beginSecondOrder,
                 .options = secondOrderOptions,
                 .readsText = true,
                 .passes = secondOrderPasses,
                 .check = checkSecondOrderOptions,
                 .measuresEachBudget = true},
    positionalStrategy("bottom_up", "Blocks from the second one upwards; the first and the last stay", CutEnd::lowest),
    positionalStrategy("top_down", "Blocks from the last but one downwards; the first and the last stay",
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
                 .begin = beginRanking,
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
    if (const auto rule = request.options.find("rules"); rule != request.options.end() && rule->second != "paper")
        throw UsageError(fmt::format("rules={} must be paper or none", rule->second), std::string(request.info->id));
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
    const MetricInfo* const ofUnits = findMetric(strategy.headMetric);
    const std::string needs = ranked                       ? std::string(name(ranked->needs))
                              : ofUnits                    ? std::string(name(ofUnits->needs))
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

bool StrategyRequest::needsSeed() const {
    return info->needsSeed || (info->usesSeed && info->usesSeed(*this));
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

bool isCalibrated(const StrategyRequest& request) {
    const auto runsModel = [](const MetricInfo* metric) { return metric && metric->needs != Needs::weights; };
    const bool measuresOnText = runsModel(request.metric ? request.metric->info : nullptr) ||
                                runsModel(findMetric(request.info->headMetric)) ||
                                runsModel(findMetric(request.info->neuronMetric));
    return (request.readsText() || measuresOnText) && !request.needsSeed();
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

} // namespace secateur
