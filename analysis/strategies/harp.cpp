#include "analysis/strategies/harp.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/masks/price.h"
#include "analysis/metrics/variant_walk.h"
#include "analysis/strategies/held_out_text.h"
#include "analysis/strategies/step_progress.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace secateur {

namespace {

enum class HarpPosition { top, middle, bottom, byMetric };
enum class HarpAlpha { search, fixed, list };

constexpr std::array<std::string_view, 4> positionNames{"top", "middle", "bottom", "by_metric"};
constexpr std::array<std::string_view, 3> alphaNames{"search", "fixed", "list"};
constexpr std::string_view noMlp = "none";
constexpr std::string_view layerUnits = "attention sublayers";
constexpr int alphaSteps = 10; ///< alpha is searched in steps of 1 / alphaSteps, from 0 to 1

struct HarpOptions {
    HarpPosition position = HarpPosition::top;
    std::optional<MetricRequest> metric; ///< set with HarpPosition::byMetric
    HarpAlpha alpha = HarpAlpha::search;
    std::vector<double> values; ///< of HarpAlpha::list, last layer first; of HarpAlpha::fixed one for all
    std::optional<StrategyRequest> mlp; ///< strategy that cuts MLP neurons
    double mlpRatio = 0;
};

template <std::size_t count>
std::size_t placeOf(const StrategyRequest& request, std::string_view option,
                    const std::array<std::string_view, count>& names) {
    const std::string value = request.option(option);
    const auto found = std::ranges::find(names, value);
    if (found == names.end())
        throw UsageError(fmt::format("{}={} must be one of {}", option, value,
                                     join(std::vector<std::string>(names.begin(), names.end()), ", ")),
                         std::string(request.info->id));
    return static_cast<std::size_t>(found - names.begin());
}

double numberIn(const StrategyRequest& request, std::string_view option, std::string_view text, double most) {
    double number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || end != text.data() + text.size() || !(number >= 0 && number <= most))
        throw UsageError(fmt::format("{}={} must be a number from 0 to {}", option, text, most),
                         std::string(request.info->id));
    return number;
}

/// Refuses an option that has no effect. @param condition when it would have one
void refuseUnused(const StrategyRequest& request, const std::string& option, std::string_view condition) {
    if (request.options.contains(option))
        throw UsageError(fmt::format("{} has an effect only with {}", option, condition),
                         std::string(request.info->id));
}

std::vector<double> alphaValues(const StrategyRequest& request, HarpAlpha alpha) {
    if (alpha != HarpAlpha::fixed)
        refuseUnused(request, "value", "alpha=fixed");
    if (alpha != HarpAlpha::list)
        refuseUnused(request, "values", "alpha=list");
    if (alpha == HarpAlpha::fixed)
        return {numberIn(request, "value", request.option("value"), mostAlpha)};
    std::vector<double> values;
    if (alpha == HarpAlpha::list)
        for (const std::string& text : split(request.option("values"), '/'))
            values.push_back(numberIn(request, "values", text, mostAlpha));
    return values;
}

/// The metric of position=by_metric, which must have one value per layer.
std::optional<MetricRequest> positionMetric(const StrategyRequest& request, HarpPosition position) {
    const std::string id(request.info->id);
    const std::string name = request.option("metric");
    if (position != HarpPosition::byMetric) {
        refuseUnused(request, "metric", "position=by_metric");
        return std::nullopt;
    }
    if (name.empty())
        throw UsageError("position=by_metric needs metric=ID, a metric of layers from `list metrics`", id);
    const MetricRequest metric = parseMetricRequests(name).front();
    if (metric.info->id != name || metric.info->scope != Scope::layer ||
        metric.info->pruneFirst == PruneFirst::neither)
        throw UsageError(fmt::format("metric={} must be a metric of layers with a pruning direction", name), id);
    return metric;
}

/// The strategy of the option `mlp`, limited to MLPs.
std::optional<StrategyRequest> mlpStrategy(const StrategyRequest& request) {
    constexpr std::string_view limit = "components";
    const std::string name = request.option("mlp");
    if (name == noMlp) {
        refuseUnused(request, "mlp_ratio", "a strategy for mlp");
        return std::nullopt;
    }
    const StrategyInfo* const found = findStrategy(name);
    if (!found || std::ranges::find(found->options, limit, &OptionInfo::name) == found->options.end())
        throw UsageError(fmt::format("mlp={} must be none, or a strategy with the option {}", name, limit),
                         std::string(request.info->id));
    return parseStrategyRequest(fmt::format("{}:{}=mlp", name, limit));
}

HarpOptions harpOptionsOf(const StrategyRequest& request) {
    HarpOptions options;
    options.position = static_cast<HarpPosition>(placeOf(request, "position", positionNames));
    options.metric = positionMetric(request, options.position);
    options.alpha = static_cast<HarpAlpha>(placeOf(request, "alpha", alphaNames));
    options.values = alphaValues(request, options.alpha);
    if (options.alpha != HarpAlpha::search)
        refuseUnused(request, "corpus", "alpha=search");
    options.mlp = mlpStrategy(request);
    options.mlpRatio = numberIn(request, "mlp_ratio", request.option("mlp_ratio"), 1);
    return options;
}

/// The layers with attention scores under a mask that may be bypassed, the first of those that share weights, in order.
std::vector<int> bypassable(const ModelSpec& spec, const PruningMask& mask, const Protection& protection) {
    std::vector<int> layers;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const LayerParts left = partsLeft(spec.layers[static_cast<std::size_t>(layer)], mask.layer(layer));
        if (mask.tiedTo(layer).front() == layer && left.attention == AttentionKind::full && left.heads > 0 &&
            !protection.covers(spec, CutUnit::attention, layer, 0))
            layers.push_back(layer);
    }
    return layers;
}

/// The order in which a metric cuts layers.
std::vector<int> rankedLayers(const PruneContext& context, const MetricRequest& metric, const CalibrationText* text,
                              const std::vector<int>& layers, const Progress& progress) {
    const ModelSpec& spec = context.spec();
    const MetricResult result = text ? measureOn(context.model, *text, metric, progress)
                                     : context.measure(metric, progress);
    Matrix values(spec.layers.size(), 1);
    for (const int layer : layers)
        for (const int tied : context.base.tiedTo(layer))
            values(static_cast<std::size_t>(tied), 0) = result.values(static_cast<std::size_t>(tied), 0);
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        if (std::ranges::find(layers, context.base.tiedTo(layer).front()) == layers.end())
            values(static_cast<std::size_t>(layer), 0) = std::numeric_limits<double>::quiet_NaN();
    const bool highestFirst = metric.info->pruneFirst == PruneFirst::high;
    const Budget all{static_cast<double>(layers.size()), false};
    std::vector<int> order;
    for (const OrderedCut& cut : lowestUnits(spec, roundedScores(values), {CutUnit::attention, highestFirst, all, false},
                                             context.protection, context.base))
        order.push_back(cut.layer);
    return order;
}

/// The index of the lowest loss, rounded to 1e-6 nats; of equal ones the first.
std::size_t lowestLoss(const std::vector<double>& losses) {
    constexpr double perNat = 1e6;
    const auto rounded = [](double nats) { return std::round(nats * perNat); };
    return static_cast<std::size_t>(std::ranges::min_element(losses, {}, rounded) - losses.begin());
}

class HarpPath : public PrunePath {
public:
    HarpPath(const PruneContext& context, const Progress& progress)
        : m_context(context)
        , m_options(harpOptionsOf(context.request.strategy))
        , m_base(context.base)
        , m_layers(bypassable(context.spec(), m_base, context.protection)) {
        if (context.checksBudget && context.request.budget.of == BudgetOf::own)
            count(context.request.budget);
        prepareTexts();
        if (m_options.position == HarpPosition::byMetric)
            m_order = rankedLayers(context, *m_options.metric, m_fitted ? &*m_fitted : nullptr, m_layers, progress);
        if (m_options.mlp)
            cutNeurons(progress);
    }

    std::size_t steps() const override {
        return m_options.alpha == HarpAlpha::list ? std::min(m_layers.size(), m_options.values.size())
                                                  : m_layers.size();
    }
    bool measuresSteps() const override { return m_options.alpha == HarpAlpha::search; }

    PruneResult after(std::size_t steps, const Progress& progress) override {
        const std::vector<int> layers = chosenLayers(steps);
        PruneResult result{.mask = m_base, .warnings = m_warnings, .order = m_neurons};
        if (m_options.alpha == HarpAlpha::search) {
            search(layers, progress);
            result.alphaCurves.assign(m_curves.begin(), m_curves.begin() + std::ssize(layers));
            std::int64_t tokens = 0;
            for (const TokenSequence& sequence : m_searched->sequences)
                tokens += std::ssize(sequence.ids);
            result.notes.push_back(fmt::format("alpha was searched on {} tokens that no other step read", tokens));
        }
        result.mask = bypassed(layers);
        if (m_context.inputs.text && harpReadsText(m_context.request.strategy)) {
            result.data = m_context.inputs.text->data;
            result.textDigest = m_context.inputs.text->digest;
        }
        return result;
    }

    PruneResult spend(const Budget& budget, const Progress& progress) override {
        return after(count(budget), progress);
    }

    std::optional<PruningMask> everything() const override {
        return measuresSteps() ? std::nullopt : std::optional(bypassed(chosenLayers(steps())));
    }

    /// At least queries and keys are removed, at most whole sublayers.
    std::optional<SavingsBounds> savingsBounds(std::size_t steps) const override {
        const std::vector<int> layers = chosenLayers(steps);
        SavingsBounds bounds{m_base, m_base};
        for (const int layer : layers) {
            bypassAttention(bounds.least, layer, 1);
            bypassAttention(bounds.most, layer, 0);
        }
        return bounds;
    }

private:
    std::size_t count(const Budget& budget) const {
        const std::size_t wanted =
            unitsFor(budget, layerUnits, unitCount(m_context.spec(), CutUnit::attention), m_layers.size());
        if (const std::size_t most = steps(); wanted > most)
            throw BudgetTooLarge(fmt::format("{} layers cannot be bypassed: values names {}", wanted,
                                             counted(most, "alpha")),
                                 {static_cast<double>(most), false}, "Give one value for each layer, the last one first");
        return wanted;
    }

    /// The texts of the search and of the other steps. They have no sequence in common, unless the corpus does.
    void prepareTexts() {
        if (!m_context.inputs.text)
            return;
        m_fitted = *m_context.inputs.text;
        if (m_options.alpha != HarpAlpha::search)
            return;
        const std::string corpus = m_context.request.strategy.option("corpus");
        if (!corpus.empty() && !m_context.inputs.corpus)
            throw Error("was not read: a search of alpha on it is not possible", corpus);
        if (m_context.inputs.corpus) {
            m_searched = *m_context.inputs.corpus;
            return;
        }
        m_split = withLastQuarterHeldOut(*m_context.inputs.text);
        m_fitted = m_split.fitted.text();
        m_searched = m_split.heldOut.text();
    }

    /// Cuts MLP neurons in m_base by the strategy of the option `mlp`.
    void cutNeurons(const Progress& progress) {
        PruneRequest request = m_context.request;
        request.strategy = *m_options.mlp;
        request.budget = {100 * m_options.mlpRatio, true};
        PruneInputs inputs;
        inputs.text = m_fitted;
        inputs.measure = [this](const MetricRequest& metric, const Progress& part) {
            return measureOn(m_context.model, m_fitted.value(), metric, part);
        };
        const PruneContext context = contextOf(m_context.model, request, inputs);
        PruneResult result = request.strategy.info->begin(context, progress)->spend(request.budget, progress);
        m_base = std::move(result.mask);
        m_neurons = std::move(result.order);
        m_warnings = std::move(result.warnings);
    }

    /// The layers to bypass, highest first.
    std::vector<int> chosenLayers(std::size_t count) const {
        const std::vector<int>& all = m_options.position == HarpPosition::byMetric ? m_order : m_layers;
        const std::size_t first = m_options.position == HarpPosition::top      ? all.size() - count
                                  : m_options.position == HarpPosition::middle ? (all.size() - count) / 2
                                                                               : 0;
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        std::vector<int> chosen(begin, begin + static_cast<std::ptrdiff_t>(count));
        std::ranges::sort(chosen, std::greater());
        return chosen;
    }

    double alphaOf(std::size_t place) const {
        if (m_options.alpha == HarpAlpha::search)
            return m_curves[place].alpha;
        return m_options.alpha == HarpAlpha::list ? m_options.values[place] : m_options.values.front();
    }

    PruningMask bypassed(std::span<const int> layers) const {
        PruningMask mask = m_base;
        for (std::size_t i = 0; i < layers.size(); ++i)
            bypassAttention(mask, layers[i], alphaOf(i));
        return mask;
    }

    /// Finds the alphas of layers, from the highest down, each with the lower layers as they are. Curves of the same
    /// layers in an earlier search are used again.
    void search(std::span<const int> layers, const Progress& progress) {
        std::size_t known = 0;
        while (known < std::min(layers.size(), m_curves.size()) && m_curves[known].layer == layers[known])
            ++known;
        if (known == layers.size())
            return;
        m_curves.resize(known);
        openWalk();
        for (std::size_t i = known; i < layers.size(); ++i) {
            take(bypassed(layers.first(i)));
            keepInputsFor(layers);
            m_curves.push_back(curveOf(layers[i], stepProgress(progress, i, layers.size())));
        }
    }

    void openWalk() {
        if (m_walk)
            return;
        m_plan = m_context.model.runner().plan(m_base, m_searched->type);
        m_walk.emplace(m_context.model, *m_plan,
                       VariantText{.sequences = m_searched->sequences,
                                   .labels = m_searched->labels,
                                   .batchTokens = m_searched->batchTokens});
    }

    void take(const PruningMask& mask) {
        auto plan = m_context.model.runner().plan(mask, m_plan->type());
        m_walk->setPlan(*plan);
        m_plan = std::move(plan);
    }

    /// Stores the inputs of the layers that are searched; of all layers if further budgets may follow.
    void keepInputsFor(std::span<const int> layers) {
        const bool isLast = m_context.checksBudget && m_context.request.budget.of == BudgetOf::own;
        const int lowest = isLast ? layers.back() : m_layers.front();
        if (m_keptFrom >= 0 && m_keptFrom <= lowest)
            return;
        m_keptFrom = lowest;
        m_walk->keepInputs(lowest, m_layers.back(), m_searched->streamBytes);
    }

    AlphaCurve curveOf(int layer, const Progress& progress) {
        AlphaCurve curve{.layer = layer, .alpha = 0, .alphas = {}, .losses = {}};
        std::vector<LayerVariant> variants;
        for (int step = 0; step <= alphaSteps; ++step) {
            curve.alphas.push_back(static_cast<double>(step) / alphaSteps);
            PruningMask mask = m_plan->mask();
            bypassAttention(mask, layer, curve.alphas.back());
            variants.push_back({mask.layer(layer), 0});
        }
        m_walk->goTo(layer, progress.part(0, 0));
        for (const VariantWalk::Losses& losses :
             m_walk->under(variants, fmt::format("alpha of layer {}", layer), progress))
            curve.losses.push_back(meanLoss(losses));
        curve.alpha = curve.alphas[lowestLoss(curve.losses)];
        return curve;
    }

    const PruneContext& m_context;
    HarpOptions m_options;
    PruningMask m_base;                      ///< with the neurons cut, if any
    std::vector<int> m_layers;               ///< layers that can be bypassed, in order
    std::vector<int> m_order;                ///< of HarpPosition::byMetric: the same layers, in the metric's order
    SplitText m_split;                       ///< parts of the calibration text, if the search uses its last quarter
    std::optional<CalibrationText> m_fitted; ///< text of all steps but the search
    std::optional<CalibrationText> m_searched;
    std::vector<OrderedCut> m_neurons;
    std::vector<std::string> m_warnings;
    std::vector<AlphaCurve> m_curves; ///< of the latest search, highest layer first
    std::shared_ptr<const Plan> m_plan;
    std::optional<VariantWalk> m_walk;
    int m_keptFrom = -1; ///< lowest layer whose inputs are stored; -1 = none
};

} // namespace

std::unique_ptr<PrunePath> beginHarp(const PruneContext& context, const Progress& progress) {
    return std::make_unique<HarpPath>(context, progress);
}

double harpPasses(const ModelSpec& spec, const PruneRequest& request) {
    const HarpOptions options = harpOptionsOf(request.strategy);
    const PruningMask base = request.base.value_or(PruningMask(spec));
    const std::vector<int> layers = bypassable(spec, base, Protection::parse(request.protect, spec));
    const std::size_t count =
        request.budget.of == BudgetOf::own
            ? unitsFor(request.budget, layerUnits, unitCount(spec, CutUnit::attention), layers.size())
            : layers.size();
    double passes = options.mlp || (options.metric && options.metric->info->needs != Needs::weights) ? 1 : 0;
    if (options.alpha != HarpAlpha::search)
        return passes;
    const double part = request.strategy.option("corpus").empty() ? 0.25 : 1; // of the text that the search reads
    const std::vector<double> shares = operationShares(spec, base, request.positions);
    passes += part;
    for (std::size_t i = layers.size() - count; i < layers.size(); ++i)
        passes += part * (alphaSteps + 1) * shares[static_cast<std::size_t>(layers[i])];
    return passes;
}

bool harpReadsText(const StrategyRequest& request) {
    const HarpOptions options = harpOptionsOf(request);
    return options.alpha == HarpAlpha::search || options.mlp ||
           (options.metric && options.metric->info->needs != Needs::weights);
}

void checkHarpOptions(const StrategyRequest& request) {
    harpOptionsOf(request);
}

} // namespace secateur
