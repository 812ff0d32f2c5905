#include "analysis/strategies/cut_order.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>

namespace secateur {

namespace {

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

/// The order in which units are cut: by value, layer and index.
struct CutsBefore {
    bool highestFirst;

    bool operator()(const OrderedCut& a, const OrderedCut& b) const {
        if (a.score != b.score)
            return highestFirst ? a.score > b.score : a.score < b.score;
        return a.layer != b.layer ? a.layer < b.layer : a.index < b.index;
    }
};

/// The units that can be cut, by layer.
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

    std::vector<OrderedCut> ofLayer(int layer) const {
        std::vector<OrderedCut> found;
        const std::vector<int> tied = m_base.tiedTo(layer);
        const int count = tied.front() == layer ? units(layer) : 0;
        for (int index = 0; index < count; ++index) {
            const double value = meanOf(m_values, tied, index);
            if (!std::isnan(value) && mayCut(tied, index))
                found.push_back({m_order.unit, layer, index, value});
        }
        return found;
    }

    std::vector<OrderedCut> all() const {
        std::vector<OrderedCut> found;
        for (int layer = 0; layer < m_spec.layerCount(); ++layer) {
            const std::vector<OrderedCut> own = ofLayer(layer);
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

/// Number of units in a budget. A small tolerance avoids losing a unit by rounding if a percentage is a whole number of
/// units.
double wanted(const Budget& budget, std::size_t units) {
    constexpr double slack = 1e-9;
    return budget.isPercentage ? std::floor(budget.amount * static_cast<double>(units) / 100 + slack) : budget.amount;
}

/// The shortest percentage that means `most` of `all` units.
double percentageFor(std::size_t most, std::size_t all) {
    const double share = all > 0 ? 100 * static_cast<double>(most) / static_cast<double>(all) : 0;
    for (double scale = 100; scale < 1e9; scale *= 10) {
        const double percentage = std::ceil(share * scale) / scale;
        if (wanted({percentage, true}, all) == static_cast<double>(most))
            return percentage;
    }
    return share;
}

/// @param units name of the units, in the plural
[[noreturn]] void refuse(const Budget& budget, std::string_view units, std::size_t all, std::size_t most,
                         const std::string& where) {
    const double percentage = percentageFor(most, all);
    throw BudgetTooLarge(fmt::format("{}{} of {} {}{} cannot be cut: at most {} can, or {}%", wanted(budget, all),
                                     budget.isPercentage ? fmt::format(" ({}%)", exactly(budget.amount)) : "", all,
                                     units, where, most, percentage),
                         {budget.isPercentage ? percentage : static_cast<double>(most), budget.isPercentage},
                         "The others are protected, cut already, have no value, or always stay");
}

/// Keeps the first `count` candidates in the order of value, layer and index, unsorted.
void keepFirst(std::vector<OrderedCut>& candidates, std::size_t count, bool highestFirst) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(count);
    if (end != candidates.end())
        std::nth_element(candidates.begin(), end, candidates.end(), CutsBefore{highestFirst});
    candidates.resize(count);
}

std::vector<OrderedCut> lowestPerLayer(const ModelSpec& spec, const Candidates& candidates, const CutOrder& order,
                                      const PruningMask& base) {
    std::vector<OrderedCut> chosen;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        const auto units = static_cast<std::size_t>(candidates.units(layer));
        if (units == 0 || !isFirstOfTied(base, layer))
            continue;
        std::vector<OrderedCut> own = candidates.ofLayer(layer);
        if (own.empty())
            continue;
        const double count = wanted(order.budget, units);
        if (count > static_cast<double>(own.size()))
            refuse(order.budget, plural(order.unit), units, own.size(), fmt::format(" in layer {}", layer));
        keepFirst(own, static_cast<std::size_t>(count), order.highestFirst);
        chosen.insert(chosen.end(), own.begin(), own.end());
    }
    return chosen;
}

} // namespace

void checkUnitBudget(const Budget& budget) {
    const std::string text = exactly(budget.amount);
    if (budget.isPercentage && !(budget.amount >= 0 && budget.amount <= 100))
        throw UsageError(fmt::format("{}% is no share from 0 to 100 %", text), "--budget");
    if (!budget.isPercentage && (!(budget.amount >= 0) || budget.amount != std::floor(budget.amount)))
        throw UsageError(fmt::format("{} is no whole number of units; a share ends in %", text), "--budget");
}

std::size_t unitsFor(const Budget& budget, std::string_view units, std::size_t all, std::size_t most) {
    checkUnitBudget(budget);
    const double count = wanted(budget, all);
    if (count > static_cast<double>(most))
        refuse(budget, units, all, most, "");
    return static_cast<std::size_t>(count);
}

std::size_t unitCount(const ModelSpec& spec, CutUnit unit) {
    const PruningMask dense(spec);
    std::size_t count = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        if (isFirstOfTied(dense, layer))
            count += static_cast<std::size_t>(unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit));
    return count;
}

namespace {

/// The units to cut, in no particular order.
std::vector<OrderedCut> chosenUnits(const ModelSpec& spec, const Matrix& values, const CutOrder& order,
                                    const Protection& protection, const PruningMask& base) {
    checkUnitBudget(order.budget);
    const Candidates candidates(spec, values, order, protection, base);
    if (order.perLayer)
        return lowestPerLayer(spec, candidates, order, base);
    std::vector<OrderedCut> chosen = candidates.all();
    const std::size_t units = unitCount(spec, order.unit);
    const double count = wanted(order.budget, units);
    if (count > static_cast<double>(chosen.size()))
        refuse(order.budget, plural(order.unit), units, chosen.size(), "");
    keepFirst(chosen, static_cast<std::size_t>(count), order.highestFirst);
    return chosen;
}

} // namespace

PruningMask cutLowest(const ModelSpec& spec, const Matrix& values, const CutOrder& order, const Protection& protection,
                      const PruningMask& base) {
    return withCuts(spec, chosenUnits(spec, values, order, protection, base), base);
}

std::vector<OrderedCut> lowestUnits(const ModelSpec& spec, const Matrix& values, const CutOrder& order,
                                    const Protection& protection, const PruningMask& base) {
    std::vector<OrderedCut> chosen = chosenUnits(spec, values, order, protection, base);
    std::ranges::sort(chosen, CutsBefore{order.highestFirst});
    return chosen;
}

std::size_t cuttable(const ModelSpec& spec, const Matrix& values, CutUnit unit, const Protection& protection,
                     const PruningMask& base) {
    const CutOrder order{unit, false, {}, false};
    return Candidates(spec, values, order, protection, base).all().size();
}

PruningMask withCuts(const ModelSpec& spec, std::span<const OrderedCut> cuts, const PruningMask& base) {
    PruningMask mask = base;
    std::map<std::pair<int, CutUnit>, std::vector<int>> byLayer;
    for (const OrderedCut& cut : cuts)
        byLayer[{cut.layer, cut.unit}].push_back(cut.index);
    for (const auto& [place, indices] : byLayer)
        cutUnits(mask, spec, place.second, place.first, indices);
    return mask;
}

Matrix roundedScores(Matrix values) {
    constexpr int digits = 20;
    for (double& value : values.values()) {
        int exponent = 0;
        const double fraction = std::frexp(value, &exponent);
        if (std::isfinite(value))
            value = std::ldexp(std::round(std::ldexp(fraction, digits)), exponent - digits);
    }
    return values;
}

PruningMask cutWithin(const ModelSpec& spec, const Matrix& values, const CutOrder& order, double bound,
                      const Protection& protection, const PruningMask& base) {
    std::vector<OrderedCut> chosen = Candidates(spec, values, order, protection, base).all();
    std::erase_if(chosen, [&](const OrderedCut& candidate) {
        return order.highestFirst ? candidate.score < bound : candidate.score > bound;
    });
    return withCuts(spec, chosen, base);
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
