#include "analysis/strategies/structured_pruning.h"

#include "analysis/base/error.h"
#include "analysis/base/usage_error.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"
#include "analysis/strategies/cut_order.h"
#include "analysis/strategies/projection_sums.h"
#include "analysis/strategies/ratio_path.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

namespace secateur {

namespace {

/// The components to cut. rules=paper cuts heads only, as the BOS-sink paper does with both strategies.
CutComponents structuredComponents(const StrategyRequest& request) {
    const CutComponents chosen = componentsOf(request);
    if (request.option("rules") != "paper")
        return chosen;
    if (!chosen.heads)
        throw UsageError("rules=paper cuts heads, and components=mlp does not", std::string(request.info->id));
    return {true, false};
}

/// The heads and neurons that one layer has to cut, from the rankings of all layers.
void addCuts(const LayerRanking& ranking, int layer, int count, std::vector<OrderedCut>& cuts) {
    const std::vector<OrderedCut>& own = ranking[static_cast<std::size_t>(layer)];
    if (count > std::ssize(own))
        throw Error(fmt::format("Layer {} has scores that are not finite: {} units are to be cut, {} have a score",
                                layer, count, own.size()));
    cuts.insert(cuts.end(), own.begin(), own.begin() + count);
}

/// How Mag-SP and Wanda-SP count.
class StructuredRule : public RatioRule {
public:
    StructuredRule(const PruneContext& context, CutComponents components)
        : RatioRule(context, components) {
        for (const LayerSpec& layer : context.spec().layers)
            m_widest = std::max(m_widest, components.heads ? layer.heads : layer.ffn);
    }

    double ratio(const Budget& budget) const override {
        checkUnitBudget(budget);
        return budget.isPercentage ? budget.amount / 100 : budget.amount / std::max(m_widest, 1);
    }

    Budget budget(double ratio, bool isPercentage) const override {
        const double whole = isPercentage ? 1e4 : m_widest;
        return {std::floor(ratio * whole + slack) / (isPercentage ? 100 : 1), isPercentage};
    }

    std::vector<double> ratios() const override {
        std::vector<double> all;
        const auto add = [&](int units) {
            for (int count = 1; count <= units; ++count)
                all.push_back(static_cast<double>(count) / units);
        };
        const std::vector<LayerSpec>& layers = m_context.spec().layers;
        for (std::size_t layer = 0; layer < layers.size(); ++layer) {
            const bool isNew = layer == 0 || layers[layer].heads != layers[layer - 1].heads ||
                               layers[layer].ffn != layers[layer - 1].ffn;
            if (isNew && m_components.heads)
                add(layers[layer].heads);
            if (isNew && m_components.neurons)
                add(layers[layer].ffn);
        }
        return ascending(std::move(all));
    }

    LayerCounts counts(int layer, double ratio) const override {
        const LayerSpec& spec = m_context.spec().layers[static_cast<std::size_t>(layer)];
        const LayerCounts& most = available(layer);
        const auto share = [&](int units) { return static_cast<int>(std::floor(ratio * units + slack)); };
        return {most.heads > 0 ? share(spec.heads) : 0, most.neurons > 0 ? share(spec.ffn) : 0};
    }

private:
    /// Avoids losing a unit by rounding if a share is a whole number of units.
    static constexpr double slack = 1e-9;

    int m_widest = 0;
};

class MagnitudeRule : public StructuredRule {
public:
    MagnitudeRule(const PruneContext& context, CutComponents components)
        : StructuredRule(context, components) {}

    void measure(const Progress& progress) {
        const StrategyRequest& strategy = m_context.request.strategy;
        const auto ranking = [&](CutUnit unit, std::string_view metric) {
            const MetricResult result = m_context.measure({findMetric(metric), {}}, progress);
            return rankingOf(m_context, unit, result.values, strategy.flag("reversed"));
        };
        if (m_components.heads)
            m_rankedHeads = ranking(CutUnit::head, strategy.info->headMetric);
        if (m_components.neurons)
            m_rankedNeurons = ranking(CutUnit::neuron, strategy.info->neuronMetric);
    }

    PruneResult cut(std::span<const LayerCounts> counts, const Progress& /*progress*/) override {
        std::vector<OrderedCut> cuts;
        for (int layer = 0; layer < m_context.spec().layerCount(); ++layer) {
            const LayerCounts& own = counts[static_cast<std::size_t>(layer)];
            if (own.heads > 0)
                addCuts(m_rankedHeads, layer, own.heads, cuts);
            if (own.neurons > 0)
                addCuts(m_rankedNeurons, layer, own.neurons, cuts);
        }
        PruneResult result{.mask = withCuts(m_context.spec(), cuts, m_context.base)};
        result.order = std::move(cuts);
        return result;
    }

private:
    LayerRanking m_rankedHeads;
    LayerRanking m_rankedNeurons;
};

/// Cuts of heads in an order that frees the keys and values of as many KV groups as possible, or of as few.
std::vector<OrderedCut> headsBySavings(const ModelSpec& spec, const PruningMask& base,
                                       const std::vector<OrderedCut>& available, int layer, bool savesMost) {
    struct Group {
        int kept = 0; ///< heads that the base keeps
        std::vector<OrderedCut> available = {};
        bool canGo() const { return kept > 0 && kept == std::ssize(available); }
    };
    const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
    std::vector<Group> groups(static_cast<std::size_t>(std::max(own.kvHeads, 0)));
    for (int head = 0; head < own.heads; ++head)
        groups[static_cast<std::size_t>(own.kvGroup(head))].kept +=
            isCut(base, spec, CutUnit::head, layer, head) ? 0 : 1;
    for (const OrderedCut& cut : available)
        groups[static_cast<std::size_t>(own.kvGroup(cut.index))].available.push_back(cut);
    std::vector<OrderedCut> first;
    std::vector<OrderedCut> last;
    if (savesMost)
        std::ranges::stable_sort(groups, [](const Group& a, const Group& b) {
            return std::pair(!a.canGo(), a.kept) < std::pair(!b.canGo(), b.kept);
        });
    for (const Group& group : groups)
        for (const OrderedCut& cut : group.available) {
            const bool isLast = !savesMost && group.canGo() && &cut == &group.available.back();
            (isLast ? last : first).push_back(cut);
        }
    first.insert(first.end(), last.begin(), last.end());
    return first;
}

class WandaRule : public StructuredRule {
public:
    WandaRule(const PruneContext& context, CutComponents components)
        : StructuredRule(context, components)
        , m_text(*context.inputs.text)
        , m_batches(paddedBatches(context.model, m_text.sequences, m_text.batchTokens)) {}

    PruneResult cut(std::span<const LayerCounts> counts, const Progress& progress) override {
        const std::vector<LayerCounts> key(counts.begin(), counts.end());
        const auto known = m_results.find(key);
        if (known != m_results.end())
            return known->second;
        return m_results.emplace(key, run(counts, progress)).first->second;
    }

    std::optional<SavingsBounds> savingsBounds(std::span<const LayerCounts> counts) const override {
        return SavingsBounds{assumed(counts, false), assumed(counts, true)};
    }

private:
    /// Layers that are scored together, before any of them is cut.
    struct Segment {
        int first;
        int end;
        bool isCut;
    };

    PruneResult run(std::span<const LayerCounts> counts, const Progress& progress);
    std::vector<Segment> segments(std::span<const LayerCounts> counts) const;
    std::vector<OrderedCut> cutsOf(const Segment& segment, std::span<const LayerCounts> counts,
                                   const ProjectionSums& sums, WritingWeights& weights) const;
    std::vector<at::Tensor> passed(const Plan& plan, const Segment& segment, std::vector<at::Tensor> streams,
                                   ProjectionSums* sums, const Progress& progress) const;
    PruningMask assumed(std::span<const LayerCounts> counts, bool savesMost) const;

    const CalibrationText& m_text;
    PaddedBatches m_batches;
    std::map<std::vector<LayerCounts>, PruneResult> m_results;
};

/// One segment for each layer, or for layers that share their weights and those between them. Ends with the last layer
/// that is cut.
std::vector<WandaRule::Segment> WandaRule::segments(std::span<const LayerCounts> counts) const {
    std::vector<Segment> all;
    std::size_t needed = 0;
    for (int first = 0; first < static_cast<int>(counts.size());) {
        int end = first + 1;
        bool isCut = false;
        for (int layer = first; layer < end; ++layer) {
            end = std::max(end, m_context.base.tiedTo(layer).back() + 1);
            isCut = isCut || counts[static_cast<std::size_t>(layer)] != LayerCounts();
        }
        all.push_back({first, end, isCut});
        needed = isCut ? all.size() : needed;
        first = end;
    }
    all.resize(needed);
    return all;
}

/// Runs all batches through a segment. @param sums observes the run; may be null
std::vector<at::Tensor> WandaRule::passed(const Plan& plan, const Segment& segment, std::vector<at::Tensor> streams,
                                          ProjectionSums* sums, const Progress& progress) const {
    for (int layer = segment.first; layer < segment.end; ++layer)
        for (std::size_t batch = 0; batch < streams.size(); ++batch) {
            progress.check();
            if (sums)
                sums->enter(layer, m_batches.batches[batch]);
            streams[batch] =
                m_context.model.runner().runLayer(plan, layer, streams[batch], m_batches.batches[batch], nullptr, sums);
        }
    return streams;
}

std::vector<OrderedCut> WandaRule::cutsOf(const Segment& segment, std::span<const LayerCounts> counts,
                                          const ProjectionSums& sums, WritingWeights& weights) const {
    const ModelSpec& spec = m_context.spec();
    const StrategyRequest& strategy = m_context.request.strategy;
    std::vector<OrderedCut> cuts;
    const auto add = [&](CutUnit unit, std::string_view metric, int LayerCounts::*number) {
        Matrix values(spec.layers.size(), columnsFor(findMetric(metric)->scope, spec));
        for (int layer = segment.first; layer < segment.end; ++layer)
            addValues(metric, sums, spec, layer, weights, values);
        const LayerRanking ranking = rankingOf(m_context, unit, std::move(values), strategy.flag("reversed"));
        for (int layer = segment.first; layer < segment.end; ++layer)
            if (const int count = counts[static_cast<std::size_t>(layer)].*number; count > 0)
                addCuts(ranking, layer, count, cuts);
    };
    if (m_components.heads)
        add(CutUnit::head, strategy.info->headMetric, &LayerCounts::heads);
    if (m_components.neurons)
        add(CutUnit::neuron, strategy.info->neuronMetric, &LayerCounts::neurons);
    return cuts;
}

PruneResult WandaRule::run(std::span<const LayerCounts> counts, const Progress& progress) {
    const Runner& runner = m_context.model.runner();
    auto plan = runner.plan(m_context.base, m_text.type);
    WritingWeights weights(m_context.model, m_context.base, plan->type(), false);
    ProjectionSums sums(m_context.model, m_context.base, m_components);
    std::vector<at::Tensor> streams;
    for (const Batch& batch : m_batches.batches)
        streams.push_back(runner.embed(*plan, batch));
    PruneResult result{.mask = m_context.base, .data = m_text.data, .textDigest = m_text.digest};
    const std::vector<Segment> all = segments(counts);
    for (std::size_t i = 0; i < all.size(); ++i) {
        progress.report(static_cast<double>(i) / static_cast<double>(all.size()),
                        fmt::format("layer {}", all[i].first));
        if (all[i].isCut) {
            passed(*plan, all[i], streams, &sums, progress);
            const std::vector<OrderedCut> cuts = cutsOf(all[i], counts, sums, weights);
            result.mask = withCuts(m_context.spec(), cuts, result.mask);
            result.order.insert(result.order.end(), cuts.begin(), cuts.end());
            plan = runner.plan(result.mask, plan->type());
        }
        if (i + 1 < all.size())
            streams = passed(*plan, all[i], std::move(streams), nullptr, progress);
    }
    m_context.model.checkFiles();
    return result;
}

/// A mask with these numbers of cuts that saves as much, or as little, as any.
PruningMask WandaRule::assumed(std::span<const LayerCounts> counts, bool savesMost) const {
    const ModelSpec& spec = m_context.spec();
    std::vector<OrderedCut> cuts;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const LayerCounts& own = counts[static_cast<std::size_t>(layer)];
        if (own.heads > 0) {
            const auto ordered =
                headsBySavings(spec, m_context.base, m_heads[static_cast<std::size_t>(layer)], layer, savesMost);
            cuts.insert(cuts.end(), ordered.begin(), ordered.begin() + own.heads);
        }
        if (own.neurons > 0)
            addCuts(m_neurons, layer, own.neurons, cuts);
    }
    return withCuts(spec, cuts, m_context.base);
}

} // namespace

void checkStructuredOptions(const StrategyRequest& request) {
    structuredComponents(request);
}

double wandaPasses(const ModelSpec& spec, const PruneRequest& /*request*/) {
    const double layers = std::max(spec.layerCount(), 1);
    return 2 - 1 / layers; // the last layer is not run again
}

std::unique_ptr<PrunePath> beginMagnitude(const PruneContext& context, const Progress& progress) {
    auto rule = std::make_unique<MagnitudeRule>(context, structuredComponents(context.request.strategy));
    MagnitudeRule& own = *rule;
    auto path = std::make_unique<RatioPath>(std::move(rule));
    path->checkBudget(context);
    own.measure(progress);
    return path;
}

std::unique_ptr<PrunePath> beginWanda(const PruneContext& context, const Progress& /*progress*/) {
    if (context.inputs.text->sequences.empty())
        throw Error("There is no sequence to measure a model on");
    auto path = std::make_unique<RatioPath>(
        std::make_unique<WandaRule>(context, structuredComponents(context.request.strategy)));
    path->checkBudget(context);
    return path;
}

} // namespace secateur
