#include "analysis/strategies/search.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/export/export_target.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/search_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// The kinds of steps of the option `units`.
std::vector<StepKind> stepKindsOf(const StrategyRequest& request) {
    std::vector<std::string> names = split(request.option("units"), '/');
    std::vector<StepKind> kinds;
    for (std::size_t i = 0; i < stepKindNames.size(); ++i)
        if (std::erase(names, stepKindNames[i]) == 1)
            kinds.push_back(static_cast<StepKind>(i));
    if (kinds.empty() || !names.empty())
        throw UsageError(fmt::format("units={} must be one or more of {}, separated by /", request.option("units"),
                                     join(std::vector<std::string>(stepKindNames.begin(), stepKindNames.end()), ", ")),
                         std::string(request.info->id));
    return kinds;
}

double numberOption(const StrategyRequest& request, std::string_view option, double least, double most) {
    const std::string text = request.option(option);
    double number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size() || !(number >= least && number <= most))
        throw UsageError(fmt::format("{}={} must be a number from {} to {}", option, text, least, most),
                         std::string(request.info->id));
    return number;
}

bool isFirstOf(const StrategyRequest& request, std::string_view option, std::string_view first,
               std::string_view second) {
    const std::string value = request.option(option);
    if (value != first && value != second)
        throw UsageError(fmt::format("{}={} must be {} or {}", option, value, first, second),
                         std::string(request.info->id));
    return value == first;
}

constexpr std::string_view anyLayout = searchLayouts[0];
constexpr std::string_view uniformLayout = searchLayouts[1];

/// What refuses masks that a layout of searchLayouts cannot hold; null = nothing does.
ExportReasons* reasonsOf(std::string_view layout, std::string_view format) {
    const std::array<ExportReasons*, searchLayouts.size()> reasons{
        nullptr,         format == "gguf" ? ggufNativeReasons : nativeReasons,
        perLayerReasons, deciLmReasons,
        ggufDeciReasons, ggufOpenElmReasons};
    return reasons[static_cast<std::size_t>(std::ranges::find(searchLayouts, layout) - searchLayouts.begin())];
}

/// The value of the option `for`. @throws UsageError
std::string layoutOption(const StrategyRequest& request) {
    const std::string layout = request.option("for");
    if (std::ranges::find(searchLayouts, layout) == searchLayouts.end())
        throw UsageError(fmt::format("for={} must be one of {}", layout,
                                     join(std::vector<std::string>(searchLayouts.begin(), searchLayouts.end()), ", ")),
                         std::string(request.info->id));
    return layout;
}

/// Sets the order of heads and neurons: wanda, obs, or metrics of heads and of neurons.
void setOrder(const StrategyRequest& request, StepRules& rules) {
    const std::string text = request.option("order");
    rules.order = text == "obs" ? StepOrder::obs : StepOrder::wanda;
    if (text == "wanda" || text == "obs")
        return;
    for (const std::string& name : split(text, '/')) {
        const MetricInfo* info = findMetric(name);
        const bool ranks = info && (info->ranks == CutUnit::head || info->ranks == CutUnit::neuron);
        if (!ranks || info->pruneFirst == PruneFirst::neither)
            throw UsageError(fmt::format("order={} must be wanda, obs, or the id of a metric that ranks heads or "
                                         "neurons for cutting; two are separated by /",
                                         text),
                             std::string(request.info->id));
        rules.metrics.push_back({info, {}});
    }
}

/// Values of a metric, with signs by which the lowest are cut first. Units without a value go last.
Matrix withLowestFirst(const MetricResult& metric) {
    Matrix values = metric.values;
    for (double& value : values.values())
        if (std::isnan(value))
            value = std::numeric_limits<double>::max();
        else if (metric.request.info->pruneFirst == PruneFirst::high)
            value = -value;
    return values;
}

StepRules rulesOf(const StrategyRequest& request, const Protection& protection) {
    StepRules rules;
    rules.kinds = stepKindsOf(request);
    rules.restores = isFirstOf(request, "restore", "weights", "none");
    setOrder(request, rules);
    rules.share = numberOption(request, "step", 0, 1);
    rules.mu = numberOption(request, "mu", 1e-6, 1e6);
    rules.protection = protection;
    rules.isUniform = layoutOption(request) == uniformLayout;
    rules.divergence = numberOption(request, "divergence", 0, 1);
    rules.swaps = request.option("swaps") == "true";
    rules.refit = rules.restores && request.option("refit") == "true";
    return rules;
}

/// Puts other kinds of steps in the place of single heads.
void replaceHeads(StepRules& rules, std::initializer_list<StepKind> others) {
    const auto heads = std::ranges::find(rules.kinds, StepKind::heads);
    if (heads == rules.kinds.end())
        return;
    rules.kinds.erase(heads);
    rules.kinds.insert(rules.kinds.end(), others);
}

/// A mask that cuts one head of a KV group of several heads; empty if there is no such group.
std::optional<PruningMask> withUnequalGroup(const ModelSpec& spec) {
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        if (const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)]; own.kvHeads < own.heads) {
            PruningMask mask(spec);
            cutUnits(mask, spec, CutUnit::head, layer, std::array{0});
            return mask;
        }
    return std::nullopt;
}

/// The kind of budget by which a search in the strategy's own units prices its steps.
BudgetOf amountOf(BudgetOf of) {
    return of == BudgetOf::own ? BudgetOf::layerParameters : of;
}

/// The mask in which every unit is cut that a search can cut.
PruningMask everythingCut(const PruneContext& context, const StepRules& rules) {
    PruningMask mask = context.base;
    const auto cutAll = [&](StepKind kind, CutUnit unit) {
        if (std::ranges::find(rules.kinds, kind) == rules.kinds.end())
            return;
        for (int layer = 0; layer < context.spec().layerCount(); ++layer)
            for (int index = 0; index < unitsIn(context.spec().layers[static_cast<std::size_t>(layer)], unit); ++index)
                if (!rules.protection.covers(context.spec(), unit, layer, index) &&
                    !isCut(mask, context.spec(), unit, layer, index))
                    cutUnits(mask, context.spec(), unit, layer, std::array{index});
    };
    cutAll(StepKind::blocks, CutUnit::block);
    cutAll(StepKind::attention, CutUnit::attention);
    cutAll(StepKind::mlps, CutUnit::mlp);
    cutAll(StepKind::heads, CutUnit::head);
    cutAll(StepKind::neurons, CutUnit::neuron);
    return mask;
}

class SearchPath : public PrunePath {
public:
    SearchPath(const PruneContext& context, const Progress& progress)
        : m_context(context)
        , m_rules(rulesOf(context.request.strategy, context.protection))
        , m_split(withLastQuarterHeldOut(*context.inputs.text))
        , m_fitted(m_split.fitted.text())
        , m_heldOut(m_split.heldOut.text()) {
        if (!context.spec().tiedGroups().empty())
            throw Error("has layers that share their weights: they cannot be restored one by one",
                        context.model.card().path);
        obeyLayout(m_rules, layoutOption(context.request.strategy));
        for (const MetricRequest& metric : m_rules.metrics)
            m_rules.values[*metric.info->ranks] = withLowestFirst(context.measure(metric, progress));
    }

    std::size_t steps() const override {
        std::size_t most = 0;
        for (const LayerSpec& layer : m_context.spec().layers)
            most += static_cast<std::size_t>(layer.heads + layer.ffn) + m_rules.kinds.size();
        return most;
    }
    bool measuresSteps() const override { return true; }

    PruneResult after(std::size_t steps, const Progress& progress) override {
        SearchGrowth& growth = growthFor(BudgetOf::layerParameters);
        while (growth.steps() < steps && growth.grow(100, progress)) {
        }
        return resultOf(growth, growth.sequence(std::min(steps, growth.steps())));
    }

    PruneResult spend(const Budget& budget, const Progress& progress) override {
        if (!budget.isPercentage || budget.amount > 100)
            throw UsageError(fmt::format("a budget of search is a percentage such as 20%, not {}", budgetText(budget)),
                             "--budget");
        PruneResult result = grown({budget.amount, true, BudgetOf::layerParameters}, progress);
        const double saved = m_context.savings->percentage(result.mask, BudgetOf::layerParameters);
        if (saved < budget.amount - slack && !result.stoppedAt) {
            const double most = std::floor(saved * 100) / 100;
            throw BudgetTooLarge(
                fmt::format("{}% of the parameters of attention and MLPs cannot be cut: at most {}% can",
                            exactly(budget.amount), most),
                {most, true});
        }
        return result;
    }

    std::optional<PruneResult> spendShare(const Budget& budget, const Savings& /*savings*/,
                                          const Progress& progress) override {
        return grown(budget, progress);
    }

    std::optional<PruningMask> everything() const override {
        return m_rules.allows ? std::nullopt : std::optional(everythingCut(m_context, m_rules));
    }

private:
    static constexpr double slack = 1e-9;

    SearchGrowth& growthFor(BudgetOf of) {
        std::unique_ptr<SearchGrowth>& growth = m_growths[of];
        if (!growth)
            growth = std::make_unique<SearchGrowth>(m_context.model, m_context.base, *m_context.savings,
                                                    SearchTexts{m_fitted, m_heldOut}, rulesFor(of), of,
                                                    m_context.inputs.watch);
        return *growth;
    }

    /// Single heads save nothing of a KV cache, and some layouts need KV groups of one size.
    StepRules rulesFor(BudgetOf of) const {
        StepRules rules = m_rules;
        if (of == BudgetOf::fileBytes)
            obeyLayout(rules, layoutOfBytes(m_context.request.strategy, m_context.model.card().format));
        const auto unequal = withUnequalGroup(m_context.spec());
        if (unequal && of == BudgetOf::kvBytes)
            replaceHeads(rules, {StepKind::groups});
        else if (unequal && rules.allows && !rules.allows(*unequal))
            replaceHeads(rules, {StepKind::groups, StepKind::headsOfGroups});
        return rules;
    }

    /// Lets steps make only masks that a layout can hold.
    void obeyLayout(StepRules& rules, const std::string& layout) const {
        const ModelCard& card = m_context.model.card();
        ExportReasons* const reasons = reasonsOf(layout, card.format);
        if (!reasons)
            return;
        if (const Reasons refused = reasons(m_context.base, card.spec, card.format); !refused.empty())
            throw Error(fmt::format("for={}: {}", layout, refused.front().sentence), card.path);
        rules.allows = [reasons, &card](const PruningMask& mask) {
            return reasons(mask, card.spec, card.format).empty();
        };
    }

    /// The result after the first step that saves enough, or after the last step.
    PruneResult grown(const Budget& budget, const Progress& progress) {
        const BudgetOf of = amountOf(budget.of);
        SearchGrowth& growth = growthFor(of);
        const double target = budget.amount - slack;
        const PruneWatch& watch = m_context.inputs.watch;
        std::size_t steps = 0;
        double saved = 0;
        bool isStopped = false;
        for (; saved < target; ++steps) {
            isStopped = steps > 0 && watch.isEnough && watch.isEnough();
            if (isStopped || (steps == growth.steps() && !growth.grow(budget.amount, progress)))
                break;
            const PruningMask& mask = growth.maskAfter(steps + 1);
            saved = m_context.savings->percentage(mask, of);
            if (watch.made)
                watch.made({mask, steps + 1, growth.lossAfter(0), growth.lossAfter(steps + 1), saved, budget.amount});
        }
        SearchSequence sequence = growth.sequence(steps);
        if (saved >= target)
            sequence = m_rules.swaps ? growth.exchanged(sequence, target, progress)
                                     : growth.trimmed(std::move(sequence), target, progress);
        const double before = sequence.empty() ? 0 : sequence.back().loss;
        if (m_rules.refit && !isStopped)
            sequence = growth.refitted(std::move(sequence), target, progress);
        PruneResult result = resultOf(growth, sequence);
        if (!sequence.empty() && sequence.back().loss != before)
            result.notes.push_back(fmt::format("{}: all weights fitted again; measured cost before {}, after {}",
                                               m_context.request.strategy.info->id, significant(before, 5),
                                               significant(sequence.back().loss, 5)));
        if (isStopped)
            result.stoppedAt = saved;
        return result;
    }

    PruneResult resultOf(const SearchGrowth& growth, const SearchSequence& steps) const {
        m_context.model.checkFiles();
        PruneResult result{.mask = steps.empty() ? m_context.base : steps.back().mask,
                           .history = growth.historyOf(steps)};
        result.order = orderOf(steps);
        result.data = m_context.inputs.text->data;
        result.textDigest = m_context.inputs.text->digest;
        result.notes.push_back(fmt::format("{}: {} candidates measured on {} tokens that were not fitted, {} skipped "
                                           "by the queue",
                                           m_context.request.strategy.info->id, growth.measured(),
                                           growth.heldOutTokens(), growth.skipped()));
        if (growth.undone() > 0)
            result.notes.push_back(fmt::format("{}: {} of {} exchanges of a last step lowered the loss",
                                               m_context.request.strategy.info->id, growth.swapped(), growth.undone()));
        return result;
    }

    const PruneContext& m_context;
    StepRules m_rules;
    SplitText m_split;
    CalibrationText m_fitted;
    CalibrationText m_heldOut;
    std::map<BudgetOf, std::unique_ptr<SearchGrowth>> m_growths; ///< one for each kind of budget
};

} // namespace

std::string layoutOfBytes(const StrategyRequest& request, std::string_view format) {
    const std::string layout = request.option("for");
    if (!layout.empty() && layout != anyLayout)
        return layout;
    return format == "gguf" ? "deci" : "per_layer";
}

std::unique_ptr<PrunePath> beginSearch(const PruneContext& context, const Progress& progress) {
    return std::make_unique<SearchPath>(context, progress);
}

double searchPasses(const ModelSpec& spec, const PruneRequest& request) {
    const StepRules rules = rulesOf(request.strategy, Protection::parse(request.protect, spec));
    constexpr double heldOut = 0.25;
    constexpr double upwards = 0.6; // layers above a candidate and the LM head
    const double first = static_cast<double>(rules.kinds.size()) * spec.layerCount() * upwards * heldOut / 4 + 2;
    // Most steps cut neurons; some cut less. Of each step, 1.5 candidates are measured, and part of the layers run
    // again.
    const double share = std::min(request.budget.amount, 100.0) / 100;
    const double steps = 1.5 * share * spec.layerCount() / std::max(rules.share, 0.01);
    constexpr double again = 0.35;
    const double refit = rules.refit ? 3 : 0;
    return first + steps * (1.5 * heldOut * upwards + again) + refit;
}

void checkSearchOptions(const StrategyRequest& request) {
    rulesOf(request, {});
}

} // namespace secateur
