#include "analysis/strategies/prune.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/metrics/measure.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace secateur {

PruningMask pruneBy(const ModelSpec& spec, const PruneRequest& request, const Matrix& values) {
    const CutOrder order{request.strategy.unit(), request.strategy.highestFirst(), request.budget,
                         request.strategy.flag("per_layer")};
    return cutLowest(spec, values, order, Protection::parse(request.protect, spec),
                     request.base.value_or(PruningMask(spec)));
}

PruningMask PruneContext::cutBy(const Matrix& values) const {
    return pruneBy(model.spec(), request, values);
}

void PruneContext::checkBudget() const {
    cutBy(randomValues(model.spec(), request.strategy.unit(), request.seed));
}

MetricResult PruneContext::measureMetric() const {
    const MetricRequest& metric = *request.strategy.metric;
    return inputs.measure ? inputs.measure(metric, progress) : measure(model, std::array{metric}, progress).front();
}

PruneResult runRandom(const PruneContext& context) {
    return {.mask = context.cutBy(
                randomValues(context.model.spec(), context.request.strategy.unit(), context.request.seed))};
}

PruneResult runRanking(const PruneContext& context) {
    context.checkBudget(); // checked first, because measuring may take long
    MetricResult metric = context.measureMetric();
    PruningMask mask = context.cutBy(metric.values);
    return {.mask = std::move(mask), .metric = std::move(metric)};
}

PruneResult prune(const Model& model, const PruneRequest& request, const PruneInputs& inputs,
                  const Progress& progress) {
    const StrategyInfo& strategy = *request.strategy.info;
    if (strategy.steps && !inputs.text)
        throw Error("needs a calibration text", std::string(strategy.id));
    const ModelSpec& spec = model.spec();
    return strategy.run({model, request, inputs, request.base.value_or(PruningMask(spec)),
                         Protection::parse(request.protect, spec), progress});
}

double calibrationPasses(const ModelSpec& spec, const PruneRequest& request) {
    const StrategyInfo& strategy = *request.strategy.info;
    return strategy.steps ? strategy.passesPerStep * static_cast<double>(strategy.steps(spec, request)) : 0;
}

namespace {

/// The name of a history's measure for sentences, and its unit.
std::pair<std::string, std::string> wordsFor(const std::string& measure) {
    if (measure == "loss_nats")
        return {"loss", " nats/token"};
    if (measure == "acc")
        return {"accuracy", ""};
    return {measure == "pooled_distance" ? "distance of pooled outputs" : measure, ""};
}

} // namespace

std::string sentence(const PruneHistory& history) {
    std::uint64_t heads = 0;
    double value = history.before;
    for (const HistoricCut& cut : history.cuts) {
        heads += cut.step <= history.steps ? 1 : 0;
        value = cut.step == history.steps ? cut.value : value;
    }
    const auto [what, unit] = wordsFor(history.measure);
    std::string text = fmt::format("{} in {}: {} {} -> {}{}", counted(heads, "head"),
                                   counted(static_cast<std::uint64_t>(history.steps), "step"), what,
                                   significant(history.before), significant(value), unit);
    const int behind = (history.cuts.empty() ? 0 : history.cuts.back().step) - history.steps;
    if (behind > 0)
        text +=
            fmt::format("; {} more, measured and taken back, to {}",
                        counted(static_cast<std::uint64_t>(behind), "step"), significant(history.cuts.back().value));
    return text;
}

MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base) {
    MaskProvenance provenance;
    provenance.strategy = request.strategy.info->id;
    provenance.options = request.strategy.allOptions();
    if (request.protect != "none")
        provenance.options.emplace("protect", request.protect);
    if (request.base && !request.base->keepsAll())
        provenance.options.emplace("base", base);
    provenance.budget = request.budget;
    if (request.strategy.info->needsSeed)
        provenance.seed = static_cast<std::int64_t>(request.seed);
    provenance.created = utcNow();
    provenance.secateur = SECATEUR_VERSION;
    return provenance;
}

MaskProvenance provenanceOf(const PruneRequest& request, const std::string& base, const PruneResult& result) {
    MaskProvenance provenance = provenanceOf(request, base);
    provenance.history = result.history;
    if (!result.data)
        return provenance;
    provenance.text = result.data->source;
    provenance.options.emplace("max_tokens", std::to_string(result.data->allTokens));
    provenance.options.emplace("seq_len", std::to_string(result.data->sequenceLength));
    return provenance;
}

namespace {

struct Candidate {
    double value = 0;
    int layer = 0;
    int index = 0;
};

bool isFirstOfTied(const PruningMask& mask, int layer) {
    return mask.tiedTo(layer).front() == layer;
}

std::size_t columnsOf(const ModelSpec& spec, CutUnit unit) {
    int columns = 0;
    for (const LayerSpec& layer : spec.layers)
        columns = std::max(columns, unitsIn(layer, unit));
    return static_cast<std::size_t>(columns);
}

double meanOf(const Matrix& values, const std::vector<int>& layers, int index) {
    double sum = 0;
    for (const int layer : layers)
        sum += values(static_cast<std::size_t>(layer), static_cast<std::size_t>(index));
    return layers.size() == 1 ? sum : sum / static_cast<double>(layers.size());
}

/// The units that can be cut, by layer. If the highest values are cut first, values are negated, so that the lowest are
/// always cut first.
class Candidates {
public:
    Candidates(const ModelSpec& spec, const Matrix& values, const CutOrder& order, const Protection& protection,
               const PruningMask& base)
        : m_spec(spec)
        , m_values(values)
        , m_order(order)
        , m_protection(protection)
        , m_base(base) {
        base.checkFits(spec);
        const std::size_t columns = columnsOf(spec, order.unit);
        if (values.rows() != spec.layers.size() || values.columns() < columns)
            throw Error(fmt::format("{} x {} values do not fit {} layers of {} units", values.rows(), values.columns(),
                                    spec.layers.size(), columns));
    }

    std::vector<Candidate> ofLayer(int layer) const {
        std::vector<Candidate> found;
        const std::vector<int> tied = m_base.tiedTo(layer);
        const int count = tied.front() == layer ? units(layer) : 0;
        for (int index = 0; index < count; ++index) {
            const double value = meanOf(m_values, tied, index);
            if (!std::isnan(value) && mayCut(tied, index))
                found.push_back({m_order.highestFirst ? -value : value, layer, index});
        }
        return found;
    }

    std::vector<Candidate> all() const {
        std::vector<Candidate> found;
        for (int layer = 0; layer < m_spec.layerCount(); ++layer) {
            const std::vector<Candidate> own = ofLayer(layer);
            found.insert(found.end(), own.begin(), own.end());
        }
        return found;
    }

    int units(int layer) const { return unitsIn(m_spec.layers[static_cast<std::size_t>(layer)], m_order.unit); }

private:
    bool mayCut(const std::vector<int>& tied, int index) const {
        const int layer = tied.front();
        // isCut() is true for a bypassed attention, but it can still be dropped.
        const LayerMask& own = m_base.layer(layer);
        const bool isGone = m_order.unit == CutUnit::attention ? !own.block || own.attention == AttentionCut::drop
                                                               : isCut(m_base, m_spec, m_order.unit, layer, index);
        return !isGone && !m_protection.covers(m_spec, m_order.unit, layer, index);
    }

    const ModelSpec& m_spec;
    const Matrix& m_values;
    const CutOrder& m_order;
    const Protection& m_protection;
    const PruningMask& m_base;
};

void checkBudget(const Budget& budget) {
    const std::string text = exactly(budget.amount);
    if (budget.isPercentage && !(budget.amount >= 0 && budget.amount <= 100))
        throw UsageError(fmt::format("{}% is no share from 0 to 100 %", text), "--budget");
    if (!budget.isPercentage && (!(budget.amount >= 0) || budget.amount != std::floor(budget.amount)))
        throw UsageError(fmt::format("{} is no whole number of units; a share ends in %", text), "--budget");
}

/// Number of units in a budget. A small tolerance avoids losing a unit by rounding if a percentage is a whole number of
/// units.
double wanted(const Budget& budget, std::size_t units) {
    constexpr double slack = 1e-9;
    return budget.isPercentage ? std::floor(budget.amount * static_cast<double>(units) / 100 + slack) : budget.amount;
}

[[noreturn]] void refuse(const CutOrder& order, std::size_t units, std::size_t most, const std::string& where) {
    const double asked = wanted(order.budget, units);
    const double share = units > 0 ? 100 * static_cast<double>(most) / static_cast<double>(units) : 0;
    throw UsageError(fmt::format("{}{} of {} {}{} cannot be cut: at most {} can, or {}%", asked,
                                 order.budget.isPercentage ? fmt::format(" ({}%)", exactly(order.budget.amount)) : "",
                                 units, plural(order.unit), where, most, std::floor(share * 100) / 100),
                     "--budget", "The others are protected, cut already or have no value");
}

/// Keeps the first `count` candidates in the order of value, layer and index.
void keepLowest(std::vector<Candidate>& candidates, std::size_t count) {
    const auto comesFirst = [](const Candidate& a, const Candidate& b) {
        if (a.value != b.value)
            return a.value < b.value;
        return a.layer != b.layer ? a.layer < b.layer : a.index < b.index;
    };
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    if (end != candidates.end())
        std::nth_element(candidates.begin(), end, candidates.end(), comesFirst);
    candidates.resize(count);
}

PruningMask cutAll(const ModelSpec& spec, CutUnit unit, const std::vector<Candidate>& chosen, const PruningMask& base) {
    std::vector<std::vector<int>> byLayer(spec.layers.size());
    for (const Candidate& candidate : chosen)
        byLayer[static_cast<std::size_t>(candidate.layer)].push_back(candidate.index);
    PruningMask mask = base;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        cutUnits(mask, spec, unit, layer, byLayer[static_cast<std::size_t>(layer)]);
    return mask;
}

std::vector<Candidate> lowestPerLayer(const ModelSpec& spec, const Candidates& candidates, const CutOrder& order,
                                      const PruningMask& base) {
    std::vector<Candidate> chosen;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const auto units = static_cast<std::size_t>(candidates.units(layer));
        if (units == 0 || !isFirstOfTied(base, layer))
            continue;
        std::vector<Candidate> own = candidates.ofLayer(layer);
        if (own.empty())
            continue;
        const double count = wanted(order.budget, units);
        if (count > static_cast<double>(own.size()))
            refuse(order, units, own.size(), fmt::format(" in layer {}", layer));
        keepLowest(own, static_cast<std::size_t>(count));
        chosen.insert(chosen.end(), own.begin(), own.end());
    }
    return chosen;
}

} // namespace

std::size_t unitCount(const ModelSpec& spec, CutUnit unit) {
    const PruningMask dense(spec);
    std::size_t count = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        if (isFirstOfTied(dense, layer))
            count += static_cast<std::size_t>(unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit));
    return count;
}

PruningMask cutLowest(const ModelSpec& spec, const Matrix& values, const CutOrder& order, const Protection& protection,
                      const PruningMask& base) {
    checkBudget(order.budget);
    const Candidates candidates(spec, values, order, protection, base);
    if (order.perLayer)
        return cutAll(spec, order.unit, lowestPerLayer(spec, candidates, order, base), base);
    std::vector<Candidate> chosen = candidates.all();
    const std::size_t units = unitCount(spec, order.unit);
    const double count = wanted(order.budget, units);
    if (count > static_cast<double>(chosen.size()))
        refuse(order, units, chosen.size(), "");
    keepLowest(chosen, static_cast<std::size_t>(count));
    return cutAll(spec, order.unit, chosen, base);
}

PruningMask cutWithin(const ModelSpec& spec, const Matrix& values, const CutOrder& order, double bound,
                      const Protection& protection, const PruningMask& base) {
    std::vector<Candidate> chosen = Candidates(spec, values, order, protection, base).all();
    const double most = order.highestFirst ? -bound : bound;
    std::erase_if(chosen, [most](const Candidate& candidate) { return candidate.value > most; });
    return cutAll(spec, order.unit, chosen, base);
}

std::size_t newlyCut(const ModelSpec& spec, CutUnit unit, const PruningMask& before, const PruningMask& after) {
    std::size_t count = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int index = 0; index < unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit); ++index)
            if (isFirstOfTied(after, layer) && isCut(after, spec, unit, layer, index) &&
                !isCut(before, spec, unit, layer, index))
                ++count;
    return count;
}

Matrix randomValues(const ModelSpec& spec, CutUnit unit, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Matrix values(spec.layers.size(), columnsOf(spec, unit));
    for (std::size_t layer = 0; layer < spec.layers.size(); ++layer)
        for (int index = 0; index < unitsIn(spec.layers[layer], unit); ++index)
            // made from the upper 53 bits, because the results of std::uniform_real_distribution differ between
            // libraries
            values(layer, static_cast<std::size_t>(index)) = std::ldexp(static_cast<double>(random() >> 11U), -53);
    return values;
}

CutUnit unitOf(const MetricInfo& metric) {
    if (!metric.ranks)
        throw UsageError("ranks no unit that can be cut", std::string(metric.id));
    return *metric.ranks;
}

} // namespace secateur
