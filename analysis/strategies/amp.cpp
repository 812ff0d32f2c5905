#include "analysis/strategies/amp.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/masks/price.h"
#include "analysis/strategies/cut_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

enum class AmpOrder { standard, reversed, random };

AmpOrder ampOrderOf(const StrategyRequest& request) {
    const std::string value = request.option("order");
    if (value == "standard")
        return AmpOrder::standard;
    if (value == "reversed")
        return AmpOrder::reversed;
    if (value == "random")
        return AmpOrder::random;
    throw UsageError(fmt::format("order={} must be standard, reversed or random", value), std::string(request.info->id));
}

bool isExactRounding(const StrategyRequest& request) {
    const std::string value = request.option("rounding");
    if (value != "code" && value != "exact")
        throw UsageError(fmt::format("rounding={} must be code or exact", value), std::string(request.info->id));
    return value == "exact";
}

/// Rounds halves to even numbers, as the authors' Python does.
int roundedHalfEven(double value) {
    return static_cast<int>(std::nearbyint(value));
}

int headsPerGroup(const LayerSpec& layer) {
    return layer.kvHeads > 0 ? layer.heads / layer.kvHeads : 1;
}

/// Chooses between the same number of heads in each KV group, whole groups, and any heads.
LayerCounts withChoice(const LayerSpec& layer, LayerCounts counts) {
    const int inGroup = headsPerGroup(layer);
    if (inGroup <= 1 || counts.heads == 0)
        return counts;
    if (counts.heads % layer.kvHeads == 0)
        return {counts.heads, counts.neurons, HeadChoice::perGroup};
    const int groups = roundedHalfEven(static_cast<double>(counts.heads) / inGroup);
    if (groups > 0 && groups < layer.kvHeads)
        return {groups * inGroup, counts.neurons, HeadChoice::wholeGroups};
    return counts;
}

/// How AMP rounds the numbers of a layer.
struct AmpRounding {
    bool isExact = false;
    bool groupsHeads = true; ///< whether heads may be rounded to whole KV groups
};

/// The heads to cut in a layer, from their number before they are rounded to groups.
LayerCounts headCounts(const LayerSpec& layer, int heads, AmpRounding rounding) {
    const LayerCounts counts{std::clamp(heads, 0, std::max(layer.heads - 1, 0))};
    return rounding.groupsHeads ? withChoice(layer, counts) : counts;
}

/// The number of heads that the neurons make up for.
int headsInTerm(const LayerSpec& layer, int heads, AmpRounding rounding) {
    return rounding.isExact ? headCounts(layer, heads, rounding).heads
                            : std::clamp(heads, 0, std::max(layer.heads - 1, 0));
}

double weightInTerm(const ModelSpec& spec, const LayerSpec& layer, AmpRounding rounding) {
    return rounding.isExact ? neuronsPerHead(spec, layer) : 1;
}

LayerCounts ampLayerCounts(const ModelSpec& spec, const LayerSpec& layer, double ratio, CutComponents components,
                     AmpRounding rounding) {
    LayerCounts counts;
    double rest = 0; // of rho H, in neurons
    if (components.heads && layer.heads > 0) {
        const int heads = roundedHalfEven(ratio * layer.heads);
        counts = headCounts(layer, heads, rounding);
        rest = (ratio * layer.heads - headsInTerm(layer, heads, rounding)) * weightInTerm(spec, layer, rounding);
    }
    if (components.neurons && layer.ffn > 0)
        counts.neurons = std::clamp(roundedHalfEven(ratio * layer.ffn + rest), 0, layer.ffn - 1);
    return counts;
}

/// The ratios at which a count of a layer changes.
void addBreakpoints(const ModelSpec& spec, const LayerSpec& layer, CutComponents components, AmpRounding rounding,
                    std::vector<double>& all) {
    const int heads = components.heads ? layer.heads : 0;
    const double weight = weightInTerm(spec, layer, rounding);
    double begin = 0; // the range of ratios in which rho H is rounded to p
    for (int p = 0; p <= heads; ++p) {
        const double end = p < heads ? (p + 0.5) / heads : 1;
        all.push_back(end);
        // The number of neurons is round(slope rho - taken).
        const double slope = layer.ffn + weight * heads;
        const double taken = weight * headsInTerm(layer, p, rounding);
        if (components.neurons && slope > 0)
            for (double half = std::max(std::floor(begin * slope - taken), 0.0) + 0.5; (half + taken) / slope < end;
                 ++half)
                all.push_back((half + taken) / slope);
        begin = end;
    }
}

/// A sentence about the choice of heads in a layer; empty if each head has keys and values of its own.
std::string noteOnGroups(const LayerSpec& layer, const LayerCounts& counts) {
    const int inGroup = headsPerGroup(layer);
    if (inGroup <= 1 || counts.heads == 0)
        return {};
    switch (counts.choice) {
    case HeadChoice::perGroup:
        return fmt::format("{} of {} heads are cut in each KV group", counts.heads / layer.kvHeads, inGroup);
    case HeadChoice::wholeGroups:
        return fmt::format("{} of {} KV groups are cut as a whole, because {} groups cannot lose the same number of heads",
                           counts.heads / inGroup, layer.kvHeads, layer.kvHeads);
    case HeadChoice::any:
        break;
    }
    return fmt::format("{} of {} heads are cut one by one, because {} KV groups of {} can neither lose the same number of "
                       "heads nor be cut as a whole",
                       counts.heads, layer.heads, layer.kvHeads, inGroup);
}

class AmpRule : public RatioRule {
public:
    AmpRule(const PruneContext& context, CutComponents components)
        : RatioRule(context, components)
        , m_order(ampOrderOf(context.request.strategy))
        , m_isExact(isExactRounding(context.request.strategy)) {}

    void measure(const Progress& progress);

    double ratio(const Budget& budget) const override {
        return ampRatio(m_context.model.card(), budget, m_components, m_context.protection);
    }
    Budget budget(double ratio, bool isPercentage) const override;
    std::vector<double> ratios() const override;
    LayerCounts counts(int layer, double ratio) const override;
    PruneResult cut(std::span<const LayerCounts> counts, const Progress& progress) override;
    std::size_t longestDip(std::span<const double> ratios) const override;

private:
    const LayerSpec& spec(int layer) const { return m_context.spec().layers[static_cast<std::size_t>(layer)]; }
    CutComponents componentsIn(int layer) const {
        return {m_components.heads && available(layer).heads > 0, m_components.neurons};
    }
    AmpRounding roundingIn(int layer) const { return {m_isExact, available(layer).heads == spec(layer).heads}; }
    bool isLike(int layer, int other) const;
    std::size_t dipOf(int layer, std::span<const double> ratios) const;
    void addHeads(int layer, const LayerCounts& counts, std::vector<OrderedCut>& cuts) const;
    void addGroups(int layer, int groups, std::vector<OrderedCut>& cuts) const;
    std::vector<std::string> notes(std::span<const LayerCounts> counts) const;

    AmpOrder m_order;
    bool m_isExact;
    std::optional<MetricResult> m_metric;
    LayerRanking m_rankedHeads;
    LayerRanking m_rankedNeurons;
};

void AmpRule::measure(const Progress& progress) {
    const PruneRequest& request = m_context.request;
    const bool isHighestFirst = m_order == AmpOrder::reversed;
    const auto ranking = [&](CutUnit unit, std::string_view metric, const Progress& part) {
        MetricResult result = m_context.measure({findMetric(metric), {}}, part);
        LayerRanking ranked = rankingOf(m_context, unit, result.values, isHighestFirst);
        if (!m_metric)
            m_metric = std::move(result);
        return ranked;
    };
    const bool isBoth = m_components.heads && m_components.neurons;
    if (m_order == AmpOrder::random) {
        m_rankedHeads = rankingOf(m_context, CutUnit::head, randomValues(m_context.spec(), CutUnit::head, request.seed),
                                  false);
        m_rankedNeurons =
            rankingOf(m_context, CutUnit::neuron, randomNeuronValues(m_context.spec(), request.seed), false);
        return;
    }
    if (m_components.heads)
        m_rankedHeads = ranking(CutUnit::head, request.strategy.info->headMetric, progress.part(0, isBoth ? 0.5 : 1));
    if (m_components.neurons)
        m_rankedNeurons =
            ranking(CutUnit::neuron, request.strategy.info->neuronMetric, progress.part(isBoth ? 0.5 : 0, 1));
}

Budget AmpRule::budget(double ratio, bool isPercentage) const {
    const double amount = ratio / this->ratio({1, isPercentage});
    return {std::floor((isPercentage ? std::min(amount, 100.0) : amount) * 100) / 100, isPercentage};
}

std::vector<double> AmpRule::ratios() const {
    std::vector<double> changes{1};
    for (int layer = 0; layer < m_context.spec().layerCount(); ++layer)
        if (layer == 0 || !isLike(layer, layer - 1))
            addBreakpoints(m_context.spec(), spec(layer), componentsIn(layer), roundingIn(layer), changes);
    changes = ascending(std::move(changes));
    // Counts change at these ratios, and halves are rounded to even numbers. Between them they are the same.
    std::vector<double> between;
    for (std::size_t i = 0; i + 1 < changes.size(); ++i)
        between.push_back((changes[i] + changes[i + 1]) / 2);
    return between;
}

LayerCounts AmpRule::counts(int layer, double ratio) const {
    const LayerCounts& most = available(layer);
    const LayerMask& base = m_context.base.layer(layer);
    LayerCounts counts = ampLayerCounts(m_context.spec(), spec(layer), ratio, componentsIn(layer), roundingIn(layer));
    // At least one head and one neuron of each layer stay.
    counts.heads = std::min(counts.heads, std::max(base.keptHeads() - 1, 0));
    counts.neurons = most.neurons > 0 ? std::min(counts.neurons, base.keptNeurons() - 1) : 0;
    return counts;
}

bool AmpRule::isLike(int layer, int other) const {
    const auto sizes = [&](int which) {
        const LayerSpec& own = spec(which);
        return std::tuple(own.heads, own.kvHeads, own.headDim, own.ffn, available(which));
    };
    return sizes(layer) == sizes(other);
}

std::size_t AmpRule::longestDip(std::span<const double> ratios) const {
    std::size_t longest = 0;
    for (int layer = 0; layer < m_context.spec().layerCount(); ++layer)
        if (layer == 0 || !isLike(layer, layer - 1))
            longest = std::max(longest, dipOf(layer, ratios));
    return longest;
}

/// After the dip, every later step cuts at least as many heads, KV groups and neurons in the layer as the step before
/// it. How many groups single heads complete depends on their scores: the least and the most are assumed.
std::size_t AmpRule::dipOf(int layer, std::span<const double> ratios) const {
    struct Cuts {
        int heads, groups, neurons;
        bool covers(const Cuts& other) const {
            return heads >= other.heads && groups >= other.groups && neurons >= other.neurons;
        }
    };
    const int inGroup = headsPerGroup(spec(layer));
    const int keptGroups = spec(layer).kvHeads;
    std::vector<Cuts> least; // from a step on: suffix minima
    std::vector<Cuts> most;
    for (const double ratio : ratios) {
        const LayerCounts own = counts(layer, ratio);
        const int sure = own.choice == HeadChoice::any ? std::max(0, keptGroups - (spec(layer).heads - own.heads)) : 0;
        const int groups = own.choice == HeadChoice::perGroup ? 0 : own.heads / inGroup;
        least.push_back({own.heads, own.choice == HeadChoice::any && inGroup > 1 ? sure : groups, own.neurons});
        most.push_back({own.heads, groups, own.neurons});
    }
    for (std::size_t i = least.size(); i-- > 1;) {
        least[i - 1].heads = std::min(least[i - 1].heads, least[i].heads);
        least[i - 1].groups = std::min(least[i - 1].groups, least[i].groups);
        least[i - 1].neurons = std::min(least[i - 1].neurons, least[i].neurons);
    }
    std::size_t longest = 0;
    for (std::size_t i = 0; i < most.size(); ++i) {
        const auto from = least.begin() + static_cast<std::ptrdiff_t>(i);
        const auto over = std::partition_point(from, least.end(), [&](const Cuts& cuts) { return !cuts.covers(most[i]); });
        longest = std::max(longest, static_cast<std::size_t>(over - from));
    }
    return longest;
}

void AmpRule::addHeads(int layer, const LayerCounts& counts, std::vector<OrderedCut>& cuts) const {
    const int groups = std::max(spec(layer).kvHeads, 1);
    if (counts.choice == HeadChoice::wholeGroups)
        return addGroups(layer, counts.heads / headsPerGroup(spec(layer)), cuts);
    const bool isPerGroup = counts.choice == HeadChoice::perGroup;
    std::vector<int> left(isPerGroup ? static_cast<std::size_t>(groups) : 1,
                          isPerGroup ? counts.heads / groups : counts.heads);
    int missing = counts.heads;
    for (const OrderedCut& cut : m_rankedHeads[static_cast<std::size_t>(layer)])
        if (int& own = left[isPerGroup ? static_cast<std::size_t>(spec(layer).kvGroup(cut.index)) : 0]; own > 0) {
            --own;
            --missing;
            cuts.push_back(cut);
        }
    if (missing > 0)
        throw Error(fmt::format("Heads of layer {} have scores that are not finite", layer));
}

void AmpRule::addGroups(int layer, int groups, std::vector<OrderedCut>& cuts) const {
    std::vector<OrderedCut> sums;
    for (int group = 0; group < spec(layer).kvHeads; ++group)
        sums.push_back({CutUnit::kvGroup, layer, group, 0});
    std::vector<OrderedCut> heads = m_rankedHeads[static_cast<std::size_t>(layer)];
    std::ranges::sort(heads, {}, &OrderedCut::index);
    if (std::ssize(heads) < spec(layer).heads)
        throw Error(fmt::format("Heads of layer {} have scores that are not finite", layer));
    for (const OrderedCut& head : heads)
        sums[static_cast<std::size_t>(spec(layer).kvGroup(head.index))].score += head.score;
    std::ranges::stable_sort(sums, [&](const OrderedCut& a, const OrderedCut& b) {
        return m_order == AmpOrder::reversed ? a.score > b.score : a.score < b.score;
    });
    cuts.insert(cuts.end(), sums.begin(), sums.begin() + groups);
}

std::vector<std::string> AmpRule::notes(std::span<const LayerCounts> counts) const {
    std::map<std::string, std::vector<std::string>> layersOf;
    for (int layer = 0; layer < m_context.spec().layerCount(); ++layer) {
        const LayerCounts& own = counts[static_cast<std::size_t>(layer)];
        if (const std::string note = noteOnGroups(spec(layer), own); !note.empty())
            layersOf[note].push_back(std::to_string(layer));
    }
    std::vector<std::string> notes;
    for (const auto& [note, layers] : layersOf)
        notes.push_back(layersOf.size() == 1 ? note : fmt::format("layers {}: {}", join(layers, ", "), note));
    return notes;
}

PruneResult AmpRule::cut(std::span<const LayerCounts> counts, const Progress& /*progress*/) {
    std::vector<OrderedCut> cuts;
    for (int layer = 0; layer < m_context.spec().layerCount(); ++layer) {
        const LayerCounts& own = counts[static_cast<std::size_t>(layer)];
        if (own.heads > 0)
            addHeads(layer, own, cuts);
        if (own.neurons == 0)
            continue;
        const std::vector<OrderedCut>& neurons = m_rankedNeurons[static_cast<std::size_t>(layer)];
        if (own.neurons > std::ssize(neurons))
            throw Error(fmt::format("Neurons of layer {} have scores that are not finite", layer));
        cuts.insert(cuts.end(), neurons.begin(), neurons.begin() + own.neurons);
    }
    PruneResult result{.mask = withCuts(m_context.spec(), cuts, m_context.base), .metric = m_metric};
    result.notes = notes(counts);
    if (m_order != AmpOrder::random)
        result.order = std::move(cuts);
    return result;
}

} // namespace

LayerCounts ampCounts(const ModelSpec& spec, const LayerSpec& layer, double ratio, CutComponents components,
                      bool isExact) {
    return ampLayerCounts(spec, layer, ratio, components, {isExact});
}

double ampRatio(const ModelCard& card, const Budget& budget, CutComponents components, const Protection& protection) {
    if (!(budget.amount >= 0) || (budget.isPercentage && budget.amount > 100))
        throw UsageError(fmt::format("{}{} is neither a number of layer equivalents from 0 nor a share from 0 to 100 %",
                                     exactly(budget.amount), budget.isPercentage ? "%" : ""),
                         "--budget");
    const ModelSpec& spec = card.spec;
    const PriceList prices(card);
    PruningMask without(spec);  // the components
    PruningMask noLayer(spec);
    int layers = 0; // without those that repeat an earlier layer's weights
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        layers += repeatsLayer(without, layer) ? 0 : 1;
        setBlock(noLayer, layer, false);
        if (protection.layers.contains(layer))
            continue;
        if (components.heads && spec.layers[static_cast<std::size_t>(layer)].attention == AttentionKind::full)
            setAttention(without, layer, false);
        if (components.neurons)
            setMlp(without, layer, false);
    }
    const auto parameters = static_cast<double>(prices.price(without).layerParameters.saved());
    if (parameters <= 0)
        throw UsageError("Every layer is protected or has nothing that can be cut", "--protect");
    const double perLayer = static_cast<double>(prices.price(noLayer).parameters.saved()) / layers;
    return budget.amount * (budget.isPercentage ? static_cast<double>(card.parameters) / 100 : perLayer) / parameters;
}

void checkAmpOptions(const StrategyRequest& request) {
    componentsOf(request);
    ampOrderOf(request);
    isExactRounding(request);
}

bool drawsAmpOrder(const StrategyRequest& request) {
    return ampOrderOf(request) == AmpOrder::random;
}

std::unique_ptr<PrunePath> beginAmp(const PruneContext& context, const Progress& progress) {
    auto rule = std::make_unique<AmpRule>(context, componentsOf(context.request.strategy));
    AmpRule& own = *rule;
    auto path = std::make_unique<RatioPath>(std::move(rule));
    path->checkBudget(context);
    own.measure(progress);
    return path;
}

} // namespace secateur
