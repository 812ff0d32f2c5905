#include "analysis/strategies/ranking_path.h"

#include "analysis/strategies/cut_order.h"

#include <algorithm>
#include <set>
#include <utility>

namespace secateur {

RankingPath::RankingPath(const PruneContext& context, Matrix values, std::optional<MetricResult> metric)
    : m_context(context)
    , m_values(context.request.strategy.info->needsSeed ? std::move(values) : roundedScores(std::move(values)))
    , m_metric(std::move(metric)) {
    if (context.request.strategy.flag("per_layer")) {
        findPercentages();
        m_steps = m_percentages.size();
    } else {
        m_steps =
            cuttable(context.spec(), m_values, context.request.strategy.unit(), context.protection, context.base);
    }
}

/// Finds the percentages at which a layer gets a further cut, up to the largest one that every layer can meet.
void RankingPath::findPercentages() {
    std::set<double> percentages;
    for (const LayerSpec& layer : m_context.spec().layers) {
        const int units = unitsIn(layer, m_context.request.strategy.unit());
        for (int count = 1; count <= units; ++count)
            percentages.insert(100.0 * count / units);
    }
    m_percentages.assign(percentages.begin(), percentages.end());
    const auto isMet = [&](double percentage) {
        try {
            cutLowest(m_context.spec(), m_values, orderFor({percentage, true}), m_context.protection, m_context.base);
            return true;
        } catch (const BudgetTooLarge&) {
            return false;
        }
    };
    m_percentages.erase(std::ranges::partition_point(m_percentages, isMet), m_percentages.end());
}

CutOrder RankingPath::orderFor(const Budget& budget) const {
    const StrategyRequest& strategy = m_context.request.strategy;
    return {strategy.unit(), strategy.highestFirst(), budget, strategy.flag("per_layer")};
}

Budget RankingPath::budgetOf(std::size_t steps) const {
    if (m_percentages.empty() || steps == 0)
        return {static_cast<double>(steps), false};
    return {m_percentages[steps - 1], true};
}

PruneResult RankingPath::after(std::size_t steps, const Progress& progress) {
    return spend(budgetOf(steps), progress);
}

PruneResult RankingPath::spend(const Budget& budget, const Progress& /*progress*/) {
    std::vector<OrderedCut> cuts =
        lowestUnits(m_context.spec(), m_values, orderFor(budget), m_context.protection, m_context.base);
    PruneResult result{.mask = withCuts(m_context.spec(), cuts, m_context.base), .metric = m_metric};
    if (!m_context.request.strategy.info->needsSeed)
        result.order = std::move(cuts);
    return result;
}

std::optional<PruningMask> RankingPath::everything() const {
    return cutLowest(m_context.spec(), m_values, orderFor(budgetOf(m_steps)), m_context.protection, m_context.base);
}

std::unique_ptr<PrunePath> beginRanking(const PruneContext& context, const Progress& progress) {
    context.checkUnits(); // checked first, because measuring may take long
    MetricResult metric = context.measure(*context.request.strategy.metric, progress);
    Matrix values = metric.values;
    return std::make_unique<RankingPath>(context, std::move(values), std::move(metric));
}

std::unique_ptr<PrunePath> beginRandom(const PruneContext& context, const Progress& /*progress*/) {
    const PruneRequest& request = context.request;
    return std::make_unique<RankingPath>(context, randomValues(context.spec(), request.strategy.unit(), request.seed));
}

std::unique_ptr<PrunePath> beginByPlace(const PruneContext& context, const Progress& /*progress*/) {
    Matrix places(context.spec().layers.size(), 1);
    for (std::size_t layer = 1; layer + 1 < places.rows(); ++layer)
        places(layer, 0) = static_cast<double>(layer);
    return std::make_unique<RankingPath>(context, std::move(places));
}

} // namespace secateur
