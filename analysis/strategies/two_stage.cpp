#include "analysis/strategies/two_stage.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/masks/price.h"
#include "analysis/running/layer_observer.h"
#include "analysis/running/padded_batches.h"
#include "analysis/strategies/cut_order.h"
#include "analysis/strategies/loss_steps.h"
#include "analysis/strategies/step_progress.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr double attentionExponent = 1.5;     ///< alpha of 2SSP
constexpr std::size_t stepsOfWhole = 1000;    ///< a step is 0.1 % of the parameters of attention and MLPs
constexpr std::size_t longestSequence = 2048; ///< tokens of the sequence that ranks attention sublayers
constexpr std::array attentionOnly{CutUnit::attention};

/// Computes the norm of each neuron's activations over the tokens of a sequence, and sums these norms over sequences.
class NeuronNorms : public LayerObserver {
public:
    explicit NeuronNorms(const ModelSpec& spec)
        : m_sums(spec.layers.size()) {}

    bool wants(int /*layer*/, Tap tap) const override { return tap == Tap::mlpHidden; }

    void see(int layer, Tap /*tap*/, const at::Tensor& values) override {
        at::Tensor& sum = m_sums[static_cast<std::size_t>(layer)];
        for (std::int64_t row = 0; row < values.size(0); ++row) {
            const int length = lengths[static_cast<std::size_t>(row)];
            const at::Tensor norms = values[row].narrow(0, 0, length).to(at::kDouble).norm(2, 0).to(at::kCPU);
            sum = sum.defined() ? sum + norms : norms;
        }
    }

    /// [layers, ffn] means over sequences; NaN = no such neuron
    Matrix means(const ModelSpec& spec, std::size_t sequences) const {
        std::int64_t columns = 0;
        for (const at::Tensor& sum : m_sums)
            columns = std::max(columns, sum.defined() ? sum.size(0) : 0);
        Matrix values(spec.layers.size(), static_cast<std::size_t>(columns));
        for (std::size_t layer = 0; layer < m_sums.size(); ++layer)
            for (std::int64_t neuron = 0; m_sums[layer].defined() && neuron < m_sums[layer].size(0); ++neuron)
                values(layer, static_cast<std::size_t>(neuron)) =
                    m_sums[layer][neuron].item<double>() / static_cast<double>(sequences);
        return values;
    }

    std::vector<int> lengths; ///< number of tokens of each row of the batch that runs

private:
    std::vector<at::Tensor> m_sums; ///< for each layer [ffn] float64
};

/// The mean over sequences of the 2-norm over tokens of the down projection's input, in the dense model.
Matrix neuronNorms(const Model& model, const CalibrationText& text, const Progress& progress) {
    if (text.sequences.empty())
        throw Error("There is no sequence to measure a model on");
    const ModelSpec& spec = model.spec();
    const auto plan = model.runner().plan(PruningMask(spec), text.type);
    const PaddedBatches batches = paddedBatches(model, text.sequences, text.batchTokens);
    NeuronNorms norms(spec);
    LayerWalk walk;
    walk.observer = &norms;
    walk.enters = [&](int, std::size_t batch, const at::Tensor&) { norms.lengths = batches.batches[batch].lengths; };
    forEachLayer(model.runner(), *plan, batches.batches, walk, progress);
    model.checkFiles();
    return norms.means(spec, text.sequences.size());
}

/// Parameters of attention and MLPs that a further cut saves.
double savedBy(const PriceList& prices, PruningMask mask, const std::function<void(PruningMask&)>& cut) {
    const std::int64_t before = prices.price(mask).layerParameters.left;
    cut(mask);
    return static_cast<double>(before - prices.price(mask).layerParameters.left);
}

/// Whether the neurons of a layer may be cut under a mask.
bool hasFreeNeurons(const ModelSpec& spec, const PruningMask& mask, const Protection& protection, int layer) {
    return mask.tiedTo(layer).front() == layer && mask.layer(layer).keptNeurons() > 0 &&
           !protection.covers(spec, CutUnit::neuron, layer, 0);
}

TwoStageSizes sizesFor(const PriceList& prices, const PruningMask& base, const Protection& protection) {
    const ModelSpec& spec = prices.spec();
    const PruningMask dense(spec);
    TwoStageSizes sizes;
    double mlps = 0;
    sizes.all = static_cast<double>(prices.price(dense).layerParameters.all);
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        if (dense.tiedTo(layer).front() != layer)
            continue;
        const double attention = savedBy(prices, dense, [&](PruningMask& mask) { setAttention(mask, layer, false); });
        const double mlp = savedBy(prices, dense, [&](PruningMask& mask) { setMlp(mask, layer, false); });
        sizes.layers += attention > 0 ? 1 : 0;
        mlps += mlp > 0 ? 1 : 0;
        sizes.attention += attention;
        sizes.mlp += mlp;
        if (hasFreeNeurons(spec, base, protection, layer))
            sizes.neurons += mlp / spec.layers[static_cast<std::size_t>(layer)].ffn;
    }
    sizes.attention /= std::max(1.0, sizes.layers);
    sizes.mlp /= std::max(1.0, mlps);
    return sizes;
}

/// The layers of attention sublayers from the smallest to the largest; empty if there is no such order, because one has
/// fewer parameters and more operations or KV bytes than another.
std::optional<std::vector<int>> layersBySize(const PruneContext& context, const std::vector<AblationPart>& parts) {
    struct Size {
        int layer = 0;
        std::int64_t parameters = 0;
        double operations = 0;
        double kvBytes = 0;
    };
    const PriceList prices(context.model.card(), PriceTerms{.positions = context.request.positions});
    std::vector<Size> sizes;
    for (const AblationPart& part : parts) {
        PruningMask mask = context.base;
        setAttention(mask, part.layer, false);
        const Price price = prices.price(mask);
        sizes.push_back(
            {part.layer, -price.parameters.left, -price.operationsPerToken.left, -price.kvBytesPerToken.left});
    }
    std::ranges::stable_sort(sizes, [](const Size& a, const Size& b) {
        return std::tie(a.parameters, a.operations, a.kvBytes) < std::tie(b.parameters, b.operations, b.kvBytes);
    });
    const auto isSorted = [&](const auto& of) { return std::ranges::is_sorted(sizes, {}, of); };
    if (!isSorted(&Size::operations) || !isSorted(&Size::kvBytes))
        return std::nullopt;
    std::vector<int> layers;
    for (const Size& size : sizes)
        layers.push_back(size.layer);
    return layers;
}

/// The longest sequence, of equally long ones the first, with at most 2,048 tokens and at most the model's context.
TokenSequence longestOf(const ModelSpec& spec, std::span<const TokenSequence> sequences) {
    const auto longest =
        std::ranges::max_element(sequences, {}, [](const TokenSequence& sequence) { return sequence.ids.size(); });
    TokenSequence one = *longest;
    const std::size_t context = spec.context > 0 ? static_cast<std::size_t>(spec.context) : longestSequence;
    one.ids.resize(std::min({one.ids.size(), context, longestSequence}));
    one.types.resize(std::min(one.types.size(), one.ids.size()));
    return one;
}

/// Number of neurons that can be cut in every layer in which neurons may be cut. At least one of each stays.
std::size_t freeNeurons(const ModelSpec& spec, const PruningMask& mask, const Protection& protection) {
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        if (hasFreeNeurons(spec, mask, protection, layer))
            least = std::min(least, static_cast<std::size_t>(mask.layer(layer).keptNeurons()) - 1);
    return least == std::numeric_limits<std::size_t>::max() ? 0 : least;
}

class TwoStagePath : public PrunePath {
public:
    TwoStagePath(const PruneContext& context, const Progress& progress)
        : m_context(context)
        , m_text(*context.inputs.text)
        , m_sizes(sizesFor(PriceList(context.model.card()), context.base, context.protection))
        , m_freeNeurons(freeNeurons(context.spec(), context.base, context.protection))
        , m_attention(removableParts(context.spec(), context.base, attentionOnly, context.protection))
        , m_bySize(layersBySize(context, m_attention)) {
        if (context.checksBudget && context.request.budget.of == BudgetOf::own)
            countsFor(context.request.budget);
        m_scores = roundedScores(neuronNorms(context.model, m_text, progress.part(0, neuronShare)));
        m_sequence.push_back(longestOf(context.spec(), m_text.sequences));
        while (m_steps < stepsOfWhole && fits(countsAt(m_steps + 1)))
            ++m_steps;
    }

    std::size_t steps() const override { return m_steps; }

    PruneResult after(std::size_t steps, const Progress& progress) override {
        return resultOf(countsAt(steps), progress);
    }

    PruneResult spend(const Budget& budget, const Progress& progress) override {
        return resultOf(countsFor(budget), progress);
    }

    std::optional<PruningMask> everything() const override {
        const auto bounds = savingsBounds(m_steps);
        return bounds ? std::optional(bounds->most) : std::nullopt;
    }

    std::optional<SavingsBounds> savingsBounds(std::size_t steps) const override {
        const TwoStageCounts counts = countsAt(steps);
        const std::size_t dropped = std::min(counts.attention, m_attention.size());
        if (!m_bySize && dropped > 0 && dropped < m_attention.size())
            return std::nullopt;
        SavingsBounds bounds{withNeurons(counts.neurons), {}};
        bounds.most = bounds.least;
        for (std::size_t i = 0; i < dropped; ++i) {
            setAttention(bounds.least, m_bySize ? (*m_bySize)[i] : m_attention[i].layer, false);
            setAttention(bounds.most,
                         m_bySize ? m_bySize->rbegin()[static_cast<std::ptrdiff_t>(i)] : m_attention[i].layer, false);
        }
        return bounds;
    }

    /// Where a step drops a further attention sublayer, the neurons that it restores are rounded.
    std::size_t longestDip() const override {
        return static_cast<std::size_t>(std::ceil(m_sizes.neurons / m_sizes.all * stepsOfWhole)) + 1;
    }

private:
    static constexpr double neuronShare = 0.2; ///< of the progress

    /// The second stage after a number of neurons.
    struct Stage {
        PruningMask mask;
        PruneHistory history;
        std::vector<OrderedCut> order;
    };

    TwoStageCounts countsAt(std::size_t steps) const {
        return twoStageCounts(m_sizes, static_cast<double>(steps) / stepsOfWhole);
    }

    bool fits(const TwoStageCounts& counts) const {
        return counts.attention <= m_attention.size() && counts.neurons <= m_freeNeurons;
    }

    TwoStageCounts countsFor(const Budget& budget) const {
        const std::string id(m_context.request.strategy.info->id);
        if (!budget.isPercentage)
            throw UsageError(fmt::format("{} takes a share of the parameters of attention and MLPs, such as 20%: {} "
                                         "units say nothing about how many are neurons",
                                         id, exactly(budget.amount)),
                             "--budget");
        checkUnitBudget(budget);
        const TwoStageCounts counts = twoStageCounts(m_sizes, budget.amount / 100);
        if (fits(counts))
            return counts;
        std::size_t most = 0;
        while (most < stepsOfWhole && fits(countsAt(most + 1)))
            ++most;
        const double percentage = 100 * static_cast<double>(most) / stepsOfWhole;
        throw BudgetTooLarge(fmt::format("{}% of the parameters of attention and MLPs cannot be cut: at most {}% can",
                                         exactly(budget.amount), percentage),
                             {percentage, true}, "At least one neuron of each MLP stays, and protected units");
    }

    /// The neurons with the lowest scores: the same number in each layer.
    std::vector<OrderedCut> lowestNeurons(std::size_t count) const {
        const CutOrder order{CutUnit::neuron, false, {static_cast<double>(count), false}, true};
        return lowestUnits(m_context.spec(), m_scores, order, m_context.protection, m_context.base);
    }

    PruningMask withNeurons(std::size_t count) const {
        return withCuts(m_context.spec(), lowestNeurons(count), m_context.base);
    }

    PruneResult resultOf(const TwoStageCounts& counts, const Progress& progress) {
        PruneResult result{.mask = withNeurons(counts.neurons),
                           .data = m_text.data,
                           .textDigest = m_text.digest,
                           .order = lowestNeurons(counts.neurons)};
        if (counts.attention == 0)
            return result;
        const Stage& stage = grown(counts, progress.part(neuronShare, 1));
        const auto end = stage.order.begin() + static_cast<std::ptrdiff_t>(counts.attention);
        result.order.insert(result.order.end(), stage.order.begin(), end);
        for (const OrderedCut& cut : std::span(stage.order).first(counts.attention))
            setAttention(result.mask, cut.layer, false);
        result.history = stage.history;
        result.history->cuts.resize(counts.attention);
        result.history->steps = static_cast<int>(counts.attention);
        return result;
    }

    /// The second stage with at least as many steps. A step that is cancelled leaves no trace.
    const Stage& grown(const TwoStageCounts& counts, const Progress& progress) {
        auto [found, isNew] = m_stages.try_emplace(counts.neurons);
        Stage& stage = found->second;
        if (isNew)
            stage.mask = withNeurons(counts.neurons);
        LossSteps steps(m_context.model, stage.mask, {.sequences = m_sequence, .batchTokens = m_text.batchTokens},
                        {{CutUnit::attention}, m_context.protection, m_text.type, false});
        if (stage.history.measure.empty()) {
            stage.history.before = steps.loss(stage.mask, progress.part(0, 0));
            stage.history.measure = "loss_nats";
        }
        while (stage.order.size() < counts.attention) {
            const double now = stage.order.empty() ? stage.history.before : stage.history.cuts.back().value;
            const LossStep step =
                steps.next(stage.mask, now, stepProgress(progress, stage.order.size(), counts.attention)).value();
            stage.mask.setLayer(step.part.layer, step.part.without);
            stage.order.push_back({CutUnit::attention, step.part.layer, 0, step.loss});
            stage.history.cuts.push_back({static_cast<int>(stage.order.size()),
                                          {step.part.layer, 0},
                                          step.loss - now,
                                          step.loss,
                                          CutUnit::attention});
        }
        m_context.model.checkFiles();
        return stage;
    }

    const PruneContext& m_context;
    const CalibrationText& m_text;
    TwoStageSizes m_sizes;
    std::size_t m_freeNeurons; ///< number of neurons that every MLP can spare
    std::vector<AblationPart> m_attention;
    std::optional<std::vector<int>> m_bySize; ///< layers of m_attention from the smallest attention to the largest
    Matrix m_scores;                          ///< [layers, ffn]
    std::vector<TokenSequence> m_sequence;    ///< one
    std::size_t m_steps = 0;
    std::map<std::size_t, Stage> m_stages; ///< by number of neurons
};

} // namespace

TwoStageCounts twoStageCounts(const TwoStageSizes& sizes, double share) {
    TwoStageCounts counts;
    if (sizes.attention > 0)
        counts.attention = static_cast<std::size_t>(
            std::nearbyint(sizes.layers * std::pow(share, sizes.mlp / sizes.attention / attentionExponent)));
    const double rest = share * sizes.all - static_cast<double>(counts.attention) * sizes.attention;
    if (sizes.neurons > 0 && rest > 0)
        counts.neurons = static_cast<std::size_t>(std::nearbyint(rest / sizes.neurons));
    return counts;
}

std::unique_ptr<PrunePath> beginTwoStage(const PruneContext& context, const Progress& progress) {
    const Model& model = context.model;
    if (context.spec().family == Family::encoder)
        throw UsageError(fmt::format("{} ranks attention sublayers by the loss of a language model, and an encoder has "
                                     "none",
                                     context.request.strategy.info->id),
                         model.card().path);
    return std::make_unique<TwoStagePath>(context, progress);
}

double twoStagePasses(const ModelSpec& spec, const PruneRequest& request) {
    constexpr double sequenceShare = 0.25; // of the usual text of 8,192 tokens
    const PruningMask base = request.base.value_or(PruningMask(spec));
    const Protection protection = Protection::parse(request.protect, spec);
    ModelCard card;
    card.spec = spec;
    const TwoStageSizes sizes = sizesFor(PriceList(card), base, protection);
    const double share = request.budget.isPercentage ? std::min(1.0, request.budget.amount / 100) : 1;
    const double units = static_cast<double>(removableParts(spec, base, attentionOnly, protection).size());
    const double each = meanRemovalPasses(spec, attentionOnly);
    double passes = 1;
    for (std::size_t step = 0; step < std::min(twoStageCounts(sizes, share).attention, std::size_t(units)); ++step)
        passes += sequenceShare * stepPasses(units - static_cast<double>(step), each, false);
    return passes;
}

} // namespace secateur
