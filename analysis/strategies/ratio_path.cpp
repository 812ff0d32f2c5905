#include "analysis/strategies/ratio_path.h"

#include "analysis/base/text.h"
#include "analysis/strategies/cut_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace secateur {

RatioRule::RatioRule(const PruneContext& context, CutComponents components)
    : m_context(context)
    , m_components(components)
    , m_heads(context.spec().layers.size())
    , m_neurons(context.spec().layers.size()) {
    const auto units = [&](CutUnit unit) {
        return rankingOf(context, unit, randomValues(context.spec(), unit, 0), false);
    };
    if (components.heads)
        m_heads = units(CutUnit::head);
    if (components.neurons)
        m_neurons = units(CutUnit::neuron);
    for (std::size_t layer = 0; layer < m_heads.size(); ++layer) {
        if (context.spec().layers[layer].attention != AttentionKind::full)
            m_heads[layer].clear();
        m_available.push_back(
            {static_cast<int>(m_heads[layer].size()), static_cast<int>(m_neurons[layer].size())});
    }
}

RatioPath::RatioPath(std::unique_ptr<RatioRule> rule)
    : m_rule(std::move(rule)) {
    std::vector<LayerCounts> last = countsAt(0);
    for (const double ratio : m_rule->ratios()) {
        std::vector<LayerCounts> counts = countsAt(ratio);
        if (!isPossible(counts))
            break;
        if (counts == last)
            continue;
        m_ratios.push_back(ratio);
        last = std::move(counts);
    }
}

std::vector<LayerCounts> RatioPath::countsAt(double ratio) const {
    std::vector<LayerCounts> counts;
    for (std::size_t layer = 0; layer < m_rule->layers(); ++layer)
        counts.push_back(m_rule->counts(static_cast<int>(layer), ratio));
    return counts;
}

bool RatioPath::hasUnits() const {
    for (std::size_t layer = 0; layer < m_rule->layers(); ++layer)
        if (m_rule->available(static_cast<int>(layer)) != LayerCounts())
            return true;
    return false;
}

bool RatioPath::isPossible(std::span<const LayerCounts> counts) const {
    for (std::size_t layer = 0; layer < counts.size(); ++layer) {
        const LayerCounts& most = m_rule->available(static_cast<int>(layer));
        if (counts[layer].heads > most.heads || counts[layer].neurons > most.neurons)
            return false;
    }
    return true;
}

std::vector<LayerCounts> RatioPath::countsFor(const Budget& budget) const {
    const double ratio = m_rule->ratio(budget);
    std::vector<LayerCounts> counts = countsAt(std::min(ratio, 1.0));
    if (ratio <= 1 && isPossible(counts) && (ratio <= 0 || hasUnits()))
        return counts;
    const bool isWhole = hasUnits() && isPossible(countsAt(1));
    const Budget most = m_rule->budget(isWhole ? 1 : ratioAfter(steps()), budget.isPercentage);
    throw BudgetTooLarge(
        fmt::format("{}{} cannot be cut: at most {}{} can", exactly(budget.amount), budget.isPercentage ? "%" : "",
                    exactly(most.amount), budget.isPercentage ? "%" : ""),
        most, isWhole ? "" : "Other units are protected, cut already or have no value");
}

void RatioPath::checkBudget(const PruneContext& context) const {
    if (context.checksBudget && context.request.budget.of == BudgetOf::own)
        countsFor(context.request.budget);
}

PruneResult RatioPath::after(std::size_t steps, const Progress& progress) {
    return m_rule->cut(countsAt(ratioAfter(steps)), progress);
}

PruneResult RatioPath::spend(const Budget& budget, const Progress& progress) {
    return m_rule->cut(countsFor(budget), progress);
}

std::optional<SavingsBounds> RatioPath::savingsBounds(std::size_t steps) const {
    return m_rule->savingsBounds(countsAt(ratioAfter(steps)));
}

std::vector<double> ascending(std::vector<double> ratios) {
    std::ranges::sort(ratios);
    const auto repeated = std::ranges::unique(ratios);
    ratios.erase(repeated.begin(), repeated.end());
    return ratios;
}

} // namespace secateur
