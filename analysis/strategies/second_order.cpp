#include "analysis/strategies/second_order.h"

#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/metrics/gate_effects.h"
#include "analysis/metrics/variant_walk.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/cut_order.h"
#include "analysis/strategies/step_progress.h"
#include "analysis/strategies/unit_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr std::array pricedUnits{CutUnit::head, CutUnit::neuron, CutUnit::attention, CutUnit::mlp, CutUnit::block};
constexpr double slack = 1e-9; ///< avoids a cut too many where a part of the budget is reached exactly

/// The value of an option that is a whole number of at least 1. @throws UsageError
int wholeOption(const StrategyRequest& request, std::string_view name) {
    const std::string text = request.option(name);
    int number = 0;
    const auto [last, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc() || last != text.data() + text.size() || number < 1)
        throw UsageError(fmt::format("{}={} should be 1 or more", name, text), std::string(request.info->id));
    return number;
}

/// The kinds of units that compete. For a budget of KV bytes, KV groups replace heads.
std::vector<CutUnit> competing(const StrategyRequest& request, BudgetOf of) {
    std::vector<CutUnit> units = unitsOption(request, pricedUnits);
    if (of == BudgetOf::kvBytes)
        std::ranges::replace(units, CutUnit::head, CutUnit::kvGroup);
    return units;
}

/// A value for each unit of a kind. [layers, units of a layer]
Matrix valuesFor(const ModelSpec& spec, CutUnit unit, double value) {
    int columns = 0;
    for (const LayerSpec& layer : spec.layers)
        columns = std::max(columns, unitsIn(layer, unit));
    return {spec.layers.size(), static_cast<std::size_t>(columns), value};
}

/// The units of a kind that can be cut, lowest value first. Units without a value cannot be cut.
std::vector<OrderedCut> ranked(const ModelSpec& spec, CutUnit unit, const Matrix& values, const Protection& protection,
                               const PruningMask& mask) {
    const auto all = static_cast<double>(cuttable(spec, values, unit, protection, mask));
    return lowestUnits(spec, values, {unit, false, {all, false}, false}, protection, mask);
}

/// All units of these kinds that can be cut.
std::vector<OrderedCut> freeUnits(const ModelSpec& spec, const std::vector<CutUnit>& units,
                                  const Protection& protection, const PruningMask& mask) {
    std::vector<OrderedCut> all;
    for (const CutUnit unit : units) {
        const std::vector<OrderedCut> own = ranked(spec, unit, valuesFor(spec, unit, 0), protection, mask);
        all.insert(all.end(), own.begin(), own.end());
    }
    return all;
}

/// The kinds of gates whose derivatives the prices of these units need.
GateKinds gatesFor(const std::vector<CutUnit>& units) {
    const auto has = [&](CutUnit unit) { return std::ranges::find(units, unit) != units.end(); };
    return {.heads = has(CutUnit::head) || has(CutUnit::kvGroup),
            .attention = has(CutUnit::attention),
            .mlps = has(CutUnit::mlp),
            .blocks = has(CutUnit::block),
            .bypasses = false,
            .neurons = has(CutUnit::neuron)};
}

/// The unit that a gate belongs to, as its index in the layer. Empty if it is of another kind.
std::optional<int> indexOf(const ModelSpec& spec, const Gate& gate, CutUnit unit) {
    const LayerSpec& layer = spec.layers[static_cast<std::size_t>(gate.layer)];
    const auto ifOf = [&](Gate::Of of, int index) { return gate.of == of ? std::optional(index) : std::nullopt; };
    switch (unit) {
    case CutUnit::head:
        return ifOf(Gate::Of::head, gate.head);
    case CutUnit::kvGroup:
        return gate.of == Gate::Of::head ? std::optional(layer.kvGroup(gate.head)) : std::nullopt;
    case CutUnit::attention:
        return ifOf(Gate::Of::attention, 0);
    case CutUnit::mlp:
        return ifOf(Gate::Of::mlp, 0);
    case CutUnit::block:
        return ifOf(Gate::Of::block, 0);
    case CutUnit::neuron:
        break;
    }
    return std::nullopt;
}

/// F/2 - g of a unit whose gates are closed together.
double priceOf(const GateEffects& effects, const std::vector<std::size_t>& gates) {
    double price = 0;
    for (const std::size_t gate : gates)
        price -= effects.slopes[gate];
    for (std::size_t sample = 0; sample < effects.factors.rows(); ++sample) {
        double along = 0;
        for (const std::size_t gate : gates)
            along += effects.factors(sample, gate);
        price += along * along / 2;
    }
    return price;
}

/// The prices of all units of a kind, in nats. NaN = the unit has no gate.
Matrix pricesOf(const ModelSpec& spec, const PruningMask& mask, const GateEffects& effects, CutUnit unit) {
    Matrix prices = valuesFor(spec, unit, std::numeric_limits<double>::quiet_NaN());
    if (unit == CutUnit::neuron)
        for (std::size_t layer = 0; layer < prices.rows(); ++layer)
            for (std::size_t neuron = 0; neuron < prices.columns(); ++neuron)
                prices(layer, neuron) = effects.neuronFisher(layer, neuron) / 2 - effects.neuronSlopes(layer, neuron);
    std::map<std::pair<int, int>, std::vector<std::size_t>> gates; // by layer and unit
    for (std::size_t gate = 0; gate < effects.gates.size(); ++gate)
        if (const auto index = indexOf(spec, effects.gates[gate], unit))
            gates[{effects.gates[gate].layer, *index}].push_back(gate);
    for (const auto& [place, own] : gates)
        prices(static_cast<std::size_t>(place.first), static_cast<std::size_t>(place.second)) = priceOf(effects, own);
    for (int layer = 0; layer < spec.layerCount(); ++layer) // layers that share weights have the gates of the first
        std::ranges::copy(prices.row(static_cast<std::size_t>(mask.tiedTo(layer).front())),
                          prices.row(static_cast<std::size_t>(layer)).begin());
    return prices;
}

/// What single units save under a mask.
class UnitSavings {
public:
    UnitSavings(const ModelSpec& spec, const PruningMask& mask, const Savings& savings, BudgetOf of)
        : m_spec(spec)
        , m_mask(mask)
        , m_savings(savings)
        , m_of(of)
        , m_left(savings.left(mask, of)) {}

    /// Replaces the values of units by their ratios to what the units save. Units that save nothing get no value.
    void divide(CutUnit unit, Matrix& values) const {
        for (int layer = 0; layer < m_spec.layerCount(); ++layer) {
            std::optional<double> known; // all neurons of a layer save the same
            for (int index = 0; index < unitsIn(m_spec.layers[static_cast<std::size_t>(layer)], unit); ++index) {
                double& value = values(static_cast<std::size_t>(layer), static_cast<std::size_t>(index));
                if (std::isnan(value))
                    continue;
                if (!known || unit != CutUnit::neuron)
                    known = savedBy(unit, layer, index);
                value = *known > 0 ? value / *known : std::numeric_limits<double>::quiet_NaN();
            }
        }
    }

private:
    double savedBy(CutUnit unit, int layer, int index) const {
        PruningMask without = m_mask;
        cutUnits(without, m_spec, unit, layer, std::array{index});
        return m_left - m_savings.left(without, m_of);
    }

    const ModelSpec& m_spec;
    const PruningMask& m_mask;
    const Savings& m_savings;
    BudgetOf m_of;
    double m_left;
};

/// Removes units that are part of a sublayer or block before them.
void removeContained(std::vector<OrderedCut>& cuts) {
    std::set<std::pair<int, CutUnit>> whole;
    std::erase_if(cuts, [&](const OrderedCut& cut) {
        const auto isIn = [&](CutUnit unit) { return whole.contains({cut.layer, unit}); };
        const bool isHead = cut.unit == CutUnit::head || cut.unit == CutUnit::kvGroup;
        if (isIn(CutUnit::block) || (isHead && isIn(CutUnit::attention)) ||
            (cut.unit == CutUnit::neuron && isIn(CutUnit::mlp)))
            return true;
        if (!isHead && cut.unit != CutUnit::neuron)
            whole.emplace(cut.layer, cut.unit);
        return false;
    });
}

/// Sequences from which F is estimated well: long ones of a decoder are cut into pieces (gate_effects.h).
std::vector<TokenSequence> sequencesFor(const ModelSpec& spec, std::span<const TokenSequence> sequences) {
    const auto isShort = [](const TokenSequence& one) { return std::ssize(one.ids) <= sampledLength; };
    if (spec.family != Family::decoder || std::ranges::all_of(sequences, isShort))
        return {sequences.begin(), sequences.end()};
    return shortSequences(sequences, sampledLength, std::numeric_limits<std::int64_t>::max());
}

/// The cuts towards one budget.
struct Cutting {
    PruningMask mask;
    std::vector<OrderedCut> order;
    int measured = 0; ///< how often gradients were taken
};

class SecondOrderPath : public PrunePath {
public:
    explicit SecondOrderPath(const PruneContext& context)
        : m_model(context.model)
        , m_spec(context.spec())
        , m_text(*context.inputs.text)
        , m_strategy(context.request.strategy)
        , m_base(context.base)
        , m_protection(context.protection)
        , m_parts(wholeOption(m_strategy, "refresh"))
        , m_passes(wholeOption(m_strategy, "passes"))
        , m_units(competing(m_strategy, BudgetOf::own))
        , m_most(freeUnits(m_spec, m_units, m_protection, m_base).size())
        , m_sequences(sequencesFor(m_spec, m_text.sequences)) {
        if (context.checksBudget && context.request.budget.of == BudgetOf::own)
            count(context.request.budget);
        SequenceLosses(m_model, m_text.sequences, m_text.labels);
    }

    std::size_t steps() const override { return m_most; }
    bool measuresSteps() const override { return true; }

    PruneResult after(std::size_t steps, const Progress& progress) override {
        return spendUnits({static_cast<double>(std::min(steps, m_most)), false}, progress);
    }

    PruneResult spend(const Budget& budget, const Progress& progress) override {
        const std::size_t wanted = count(budget);
        PruneResult result = spendUnits({static_cast<double>(wanted), false}, progress);
        // Cutting a sublayer or a block removes other candidates, so that there may be fewer steps than units.
        if (result.order.size() < wanted)
            unitsFor(budget, pluralOf(m_units), countOf(m_spec, m_units), result.order.size());
        return result;
    }

    std::optional<PruneResult> spendShare(const Budget& budget, const Savings& savings,
                                          const Progress& progress) override {
        return grown(budget, &savings, progress);
    }

    std::optional<PruningMask> everything() const override {
        return withCuts(m_spec, freeUnits(m_spec, m_units, m_protection, m_base), m_base);
    }

private:
    std::size_t count(const Budget& budget) const {
        return unitsFor(budget, pluralOf(m_units), countOf(m_spec, m_units), m_most);
    }

    PruneResult spendUnits(const Budget& budget, const Progress& progress) { return grown(budget, nullptr, progress); }

    /// Cuts until the budget is spent or no unit is left. A part whose gradients are cancelled leaves no trace.
    /// @param savings null = the budget is a number of units
    PruneResult grown(const Budget& budget, const Savings* savings, const Progress& progress) {
        Cutting& cutting = m_cuttings.try_emplace(budgetText(budget), Cutting{m_base, {}}).first->second;
        const std::vector<CutUnit> units = competing(m_strategy, budget.of);
        bool isAnyLeft = true;
        for (int part = 1; part <= m_parts; ++part) {
            const double target = budget.amount * part / m_parts;
            const Progress own =
                stepProgress(progress, static_cast<std::size_t>(part - 1), static_cast<std::size_t>(m_parts));
            while (isAnyLeft && spent(cutting.mask, cutting.order.size(), budget.of, savings) < target - slack) {
                const std::vector<OrderedCut> cheapest = cheapestUnits(cutting.mask, units, budget.of, savings, own);
                isAnyLeft = !cheapest.empty();
                take(cutting, cheapest, target, budget.of, savings);
            }
        }
        return resultOf(cutting);
    }

    static double spent(const PruningMask& mask, std::size_t cuts, BudgetOf of, const Savings* savings) {
        return savings ? savings->percentage(mask, of) : static_cast<double>(cuts);
    }

    /// Units by their prices under a mask, cheapest first.
    std::vector<OrderedCut> cheapestUnits(const PruningMask& mask, const std::vector<CutUnit>& units, BudgetOf of,
                                          const Savings* savings, const Progress& progress) const {
        if (freeUnits(m_spec, units, m_protection, mask).empty())
            return {};
        const auto plan = m_model.runner().plan(mask, m_text.type);
        const GradientRun run{
            .plan = *plan, .sequences = m_sequences, .labels = m_text.labels, .batchTokens = m_text.batchTokens};
        const GateEffects effects = gateEffects(m_model, run, m_passes, progress, gatesFor(units));
        std::vector<OrderedCut> all;
        for (const CutUnit unit : units) {
            Matrix values = pricesOf(m_spec, mask, effects, unit);
            if (savings)
                UnitSavings(m_spec, mask, *savings, of).divide(unit, values);
            const std::vector<OrderedCut> own =
                ranked(m_spec, unit, roundedScores(std::move(values)), m_protection, mask);
            all.insert(all.end(), own.begin(), own.end());
        }
        std::ranges::sort(all, {},
                          [](const OrderedCut& cut) { return std::tuple(cut.score, cut.layer, cut.unit, cut.index); });
        removeContained(all);
        return all;
    }

    /// Cuts the first of these units, as few as reach the target.
    void take(Cutting& cutting, std::span<const OrderedCut> cheapest, double target, BudgetOf of,
              const Savings* savings) const {
        const auto isEnough = [&](std::size_t cuts) {
            const std::size_t all = cutting.order.size() + cuts;
            if (!savings)
                return static_cast<double>(all) >= target - slack;
            return spent(withCuts(m_spec, cheapest.first(cuts), cutting.mask), all, of, savings) >= target - slack;
        };
        std::size_t tooFew = 0;
        std::size_t enough = cheapest.size();
        while (tooFew + 1 < enough) {
            const std::size_t middle = tooFew + (enough - tooFew) / 2;
            (isEnough(middle) ? enough : tooFew) = middle;
        }
        cutting.mask = withCuts(m_spec, cheapest.first(enough), cutting.mask);
        cutting.order.insert(cutting.order.end(), cheapest.begin(),
                             cheapest.begin() + static_cast<std::ptrdiff_t>(enough));
        cutting.measured += enough > 0 ? 1 : 0;
    }

    PruneResult resultOf(const Cutting& cutting) const {
        m_model.checkFiles();
        PruneResult result{
            .mask = cutting.mask, .data = m_text.data, .textDigest = m_text.digest, .order = cutting.order};
        result.notes.push_back(
            fmt::format("gradients were taken {}", counted(static_cast<std::uint64_t>(cutting.measured), "time")));
        return result;
    }

    const Model& m_model;
    const ModelSpec& m_spec;
    const CalibrationText& m_text;
    const StrategyRequest& m_strategy;
    const PruningMask& m_base;
    const Protection& m_protection;
    int m_parts;  ///< parts of the budget, each with new gradients
    int m_passes; ///< drawings of random signs
    std::vector<CutUnit> m_units;
    std::size_t m_most; ///< number of units that can be cut
    std::vector<TokenSequence> m_sequences;
    std::map<std::string, Cutting> m_cuttings; ///< by budget
};

} // namespace

std::unique_ptr<PrunePath> beginSecondOrder(const PruneContext& context, const Progress& /*progress*/) {
    return std::make_unique<SecondOrderPath>(context);
}

double secondOrderPasses(const ModelSpec& spec, const PruneRequest& request) {
    constexpr double backward = 2; // in forward passes
    const int drawings = spec.family == Family::decoder ? wholeOption(request.strategy, "passes") : 0;
    const double each = 1 + backward * (1 + drawings);
    std::size_t parts = static_cast<std::size_t>(wholeOption(request.strategy, "refresh"));
    if (request.budget.of == BudgetOf::own) {
        const std::vector<CutUnit> units = competing(request.strategy, BudgetOf::own);
        const std::size_t most =
            freeUnits(spec, units, Protection::parse(request.protect, spec), request.base.value_or(PruningMask(spec)))
                .size();
        parts = std::min(parts, unitsFor(request.budget, pluralOf(units), countOf(spec, units), most));
    }
    return each * static_cast<double>(parts);
}

void checkSecondOrderOptions(const StrategyRequest& request) {
    unitsOption(request, pricedUnits);
    wholeOption(request, "refresh");
    wholeOption(request, "passes");
}

} // namespace secateur
