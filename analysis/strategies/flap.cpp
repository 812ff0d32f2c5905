#include "analysis/strategies/flap.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/runner.h"
#include "analysis/strategies/cut_order.h"
#include "analysis/strategies/projection_sums.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace secateur {

namespace {

/// Means over the text of the inputs of a layer's projections.
struct InputMeans {
    std::vector<double> context; ///< [heads * headDim]; empty if the layer has no heads
    std::vector<double> neurons; ///< [ffn]
};

/// The total weight of units, protected and cut ones included.
double weightOfAll(const PruneContext& context, CutComponents components) {
    double sum = 0;
    for (int layer = 0; layer < context.spec().layerCount(); ++layer) {
        const LayerSpec& own = context.spec().layers[static_cast<std::size_t>(layer)];
        if (repeatsLayer(context.base, layer))
            continue;
        if (components.heads && own.attention == AttentionKind::full)
            sum += own.heads * neuronsPerHead(context.spec(), own);
        if (components.neurons)
            sum += own.ffn;
    }
    return sum;
}

/// The units that can be cut, in an order by the values of both kinds.
std::vector<OrderedCut> orderedUnits(const PruneContext& context, CutComponents components, const Matrix& heads,
                                     const Matrix& neurons) {
    const bool isHighestFirst = context.request.strategy.flag("reversed");
    std::vector<OrderedCut> all;
    const auto add = [&](CutUnit unit, const Matrix& values) {
        for (const std::vector<OrderedCut>& layer : rankingOf(context, unit, values, isHighestFirst))
            all.insert(all.end(), layer.begin(), layer.end());
    };
    if (components.heads)
        add(CutUnit::head, heads);
    if (components.neurons)
        add(CutUnit::neuron, neurons);
    const auto place = [](const OrderedCut& cut) { return std::tuple(cut.layer, cut.unit, cut.index); };
    std::ranges::sort(all, [&](const OrderedCut& a, const OrderedCut& b) {
        if (a.score != b.score)
            return isHighestFirst ? a.score > b.score : a.score < b.score;
        return place(a) < place(b);
    });
    return all;
}

/// What the budget counts, and what of it can be cut.
class FlapWeights {
public:
    FlapWeights(const PruneContext& context, CutComponents components)
        : m_all(weightOfAll(context, components)) {}

    /// The weight that a budget removes. @param possible weight of all units that can be cut @throws BudgetTooLarge
    double removed(const Budget& budget, double possible) const {
        checkUnitBudget(budget);
        const double weight = budget.isPercentage ? budget.amount / 100 * m_all : budget.amount;
        if (weight <= possible * (1 + 1e-12))
            return weight;
        const double share = m_all > 0 ? possible / m_all : 0;
        const double most = std::floor(budget.isPercentage ? share * 1e4 : possible) / (budget.isPercentage ? 100 : 1);
        const std::string unit = budget.isPercentage ? "%" : "";
        throw BudgetTooLarge(fmt::format("{}{} of the weighted units cannot be cut: at most {}{} can",
                                         exactly(budget.amount), unit, exactly(most), unit),
                             {most, budget.isPercentage},
                             "The others are protected, cut already or have no value; a head weighs as many neurons as "
                             "it has parameters");
    }

private:
    double m_all;
};

class FlapPath : public PrunePath {
public:
    FlapPath(const PruneContext& context, CutComponents components, std::vector<OrderedCut> order,
             std::vector<InputMeans> means)
        : m_context(context)
        , m_weights(context, components)
        , m_order(std::move(order))
        , m_means(std::move(means)) {
        const ModelSpec& spec = context.spec();
        for (const OrderedCut& cut : m_order) {
            const LayerSpec& layer = spec.layers[static_cast<std::size_t>(cut.layer)];
            m_weightOf.push_back(cut.unit == CutUnit::head ? neuronsPerHead(spec, layer) : 1);
            m_possible += m_weightOf.back();
        }
    }

    std::size_t steps() const override { return m_order.size(); }

    PruneResult after(std::size_t steps, const Progress& progress) override {
        PruneResult result{.mask = maskAfter(steps)};
        result.order.assign(m_order.begin(), m_order.begin() + static_cast<std::ptrdiff_t>(steps));
        if (steps > 0)
            result.notes.push_back(fmt::format("threshold: {}", exactly(m_order[steps - 1].score)));
        result.data = m_context.inputs.text->data;
        result.textDigest = m_context.inputs.text->digest;
        compensate(result, progress);
        return result;
    }

    PruneResult spend(const Budget& budget, const Progress& progress) override {
        const double removed = m_weights.removed(budget, m_possible);
        std::size_t count = cutsAtThreshold(m_weightOf, removed);
        while (count > 0 && count < m_order.size() && m_order[count].score == m_order[count - 1].score)
            ++count;
        return after(count, progress);
    }

    std::optional<PruningMask> everything() const override { return maskAfter(m_order.size()); }

    std::optional<SavingsBounds> savingsBounds(std::size_t steps) const override {
        const PruningMask mask = maskAfter(steps);
        return SavingsBounds{mask, mask};
    }

private:
    PruningMask maskAfter(std::size_t steps) const {
        return withCuts(m_context.spec(), std::span(m_order).first(steps), m_context.base);
    }

    void compensate(PruneResult& result, const Progress& progress) const;
    std::vector<float> bias(int layer, WeightName which, const std::vector<std::int64_t>& columns,
                            const std::vector<double>& means) const;

    const PruneContext& m_context;
    FlapWeights m_weights;
    std::vector<OrderedCut> m_order;
    std::vector<InputMeans> m_means;
    std::vector<double> m_weightOf; ///< weight of each unit of m_order
    double m_possible = 0;          ///< their sum
};

/// The product of some columns of a projection with the means of their inputs. [hidden]
std::vector<float> FlapPath::bias(int layer, WeightName which, const std::vector<std::int64_t>& columns,
                                  const std::vector<double>& means) const {
    const at::Tensor weight = m_context.model.tensor(layer, which);
    const at::Tensor index = at::tensor(columns, at::kLong).to(weight.device());
    const at::Tensor cut = weight.index_select(1, index).to(at::kCPU, at::kDouble);
    const at::Tensor inputs = at::tensor(means, at::kDouble).index_select(0, index.cpu());
    const at::Tensor product = at::mv(cut, inputs).to(at::kFloat).contiguous();
    return {product.data_ptr<float>(), product.data_ptr<float>() + product.numel()};
}

/// Adds the biases of the cut units to the masks of their layers.
void FlapPath::compensate(PruneResult& result, const Progress& progress) const {
    struct Columns {
        std::vector<std::int64_t> context;
        std::vector<std::int64_t> neurons;
    };
    std::vector<Columns> cut(m_means.size());
    for (const OrderedCut& unit : result.order) {
        Columns& own = cut[static_cast<std::size_t>(unit.layer)];
        const int headDim = m_context.spec().layers[static_cast<std::size_t>(unit.layer)].headDim;
        if (unit.unit == CutUnit::neuron)
            own.neurons.push_back(unit.index);
        for (int i = 0; unit.unit == CutUnit::head && i < headDim; ++i)
            own.context.push_back(std::int64_t{unit.index} * headDim + i);
    }
    for (int layer = 0; layer < result.mask.layerCount(); ++layer) {
        progress.check();
        const auto at = static_cast<std::size_t>(layer);
        LayerMask mask = result.mask.layer(layer);
        LayerCompensation own = mask.compensation ? *mask.compensation : LayerCompensation();
        if (!cut[at].context.empty() && mask.keptHeads() > 0)
            own.attentionBias = bias(layer, WeightName::output, cut[at].context, m_means[at].context);
        if (!cut[at].neurons.empty() && mask.keptNeurons() > 0)
            own.mlpBias = bias(layer, WeightName::down, cut[at].neurons, m_means[at].neurons);
        if (own.empty())
            continue;
        mask.compensation = std::make_shared<const LayerCompensation>(std::move(own));
        result.mask.setLayer(layer, std::move(mask));
    }
    m_context.model.checkFiles();
}

/// The sums of one pass over the text, on the dense model.
ProjectionSums denseSums(const PruneContext& context, const Plan& plan, CutComponents components,
                         const Progress& progress) {
    const PaddedBatches all =
        paddedBatches(context.model, context.inputs.text->sequences, context.inputs.text->batchTokens);
    ProjectionSums sums(context.model, plan.mask(), components);
    LayerWalk walk;
    walk.observer = &sums;
    walk.enters = [&](int layer, std::size_t batch, const at::Tensor&) { sums.enter(layer, all.batches[batch]); };
    forEachLayer(context.model.runner(), plan, all.batches, walk, progress);
    context.model.checkFiles();
    return sums;
}

/// The means of each layer's inputs. Layers that share their weights have the mean of their means.
std::vector<InputMeans> inputMeans(const PruningMask& mask, const ProjectionSums& sums) {
    std::vector<InputMeans> all(static_cast<std::size_t>(mask.layerCount()));
    const auto add = [](const ColumnTotals& totals, double count, std::vector<double>& means) {
        means.resize(std::max(means.size(), totals.sums.size()));
        for (std::size_t i = 0; i < totals.sums.size(); ++i)
            means[i] += totals.sums[i] / count;
    };
    for (int layer = 0; layer < mask.layerCount(); ++layer) {
        const std::vector<int> tied = mask.tiedTo(layer);
        for (const int other : tied) {
            const PartSums& part = sums.of(other).parts[0];
            const double count = part.at(TokenSum::tokens) * static_cast<double>(tied.size());
            add(part.context, count, all[static_cast<std::size_t>(layer)].context);
            add(part.neurons, count, all[static_cast<std::size_t>(layer)].neurons);
        }
    }
    return all;
}

/// @throws BudgetTooLarge if the budget cannot be met with any values
void checkFlapBudget(const PruneContext& context, CutComponents components) {
    if (!context.checksBudget || context.request.budget.of != BudgetOf::own)
        return;
    const ModelSpec& spec = context.spec();
    double possible = 0;
    for (const OrderedCut& cut : orderedUnits(context, components, randomValues(spec, CutUnit::head, 0),
                                              randomValues(spec, CutUnit::neuron, 0))) {
        const LayerSpec& layer = spec.layers[static_cast<std::size_t>(cut.layer)];
        possible += cut.unit == CutUnit::head ? neuronsPerHead(spec, layer) : 1;
    }
    FlapWeights(context, components).removed(context.request.budget, possible);
}

} // namespace

std::size_t cutsAtThreshold(std::span<const double> weights, double removed) {
    if (removed <= 0 || weights.empty())
        return 0;
    std::size_t best = 0;
    double least = removed;
    double before = 0; // weight of the units with lower scores
    for (std::size_t i = 0; i < weights.size(); ++i) {
        if (const double apart = std::abs(removed - before); apart <= least) {
            least = apart;
            best = i;
        }
        before += weights[i];
    }
    return best + 1;
}

double flapPasses(const ModelSpec& /*spec*/, const PruneRequest& /*request*/) {
    return 1;
}

void checkFlapOptions(const StrategyRequest& request) {
    componentsOf(request);
}

std::unique_ptr<PrunePath> beginFlap(const PruneContext& context, const Progress& progress) {
    const CalibrationText& text = *context.inputs.text;
    if (text.sequences.empty())
        throw Error("There is no sequence to measure a model on");
    const StrategyInfo& info = *context.request.strategy.info;
    const CutComponents components = componentsOf(context.request.strategy);
    checkFlapBudget(context, components);
    const ModelSpec& spec = context.spec();
    const PruningMask dense(spec);
    const auto plan = context.model.runner().plan(dense, text.type);
    const ProjectionSums sums = denseSums(context, *plan, components, progress);
    WritingWeights weights(context.model, dense, plan->type(), false);
    Matrix heads(spec.layers.size(), columnsFor(Scope::head, spec));
    Matrix neurons(spec.layers.size(), columnsFor(Scope::neuron, spec));
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        if (components.heads)
            addValues(info.headMetric, sums, spec, layer, weights, heads);
        if (components.neurons)
            addValues(info.neuronMetric, sums, spec, layer, weights, neurons);
    }
    return std::make_unique<FlapPath>(context, components, orderedUnits(context, components, heads, neurons),
                                      inputMeans(dense, sums));
}

} // namespace secateur
