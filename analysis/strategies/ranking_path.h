#pragma once

#include "analysis/base/matrix.h"
#include "analysis/strategies/prune.h"

#include <memory>
#include <optional>
#include <vector>

namespace secateur {

/// The path of a strategy that ranks units once: each step cuts the next unit of the ranking. With per_layer=true, each
/// step is the smallest rise of the percentage that cuts a further unit in some layer.
class RankingPath : public PrunePath {
public:
    /// @param values [layers, units of a layer] @param metric the result that the values come from, if any
    RankingPath(const PruneContext& context, Matrix values, std::optional<MetricResult> metric = {});

    std::size_t steps() const override { return m_steps; }
    PruneResult after(std::size_t steps, const Progress& progress) override;
    PruneResult spend(const Budget& budget, const Progress& progress) override;
    std::optional<PruningMask> everything() const override;

private:
    Budget budgetOf(std::size_t steps) const;
    CutOrder orderFor(const Budget& budget) const;
    void findPercentages();

    const PruneContext& m_context;
    Matrix m_values;
    std::optional<MetricResult> m_metric;
    std::vector<double> m_percentages; ///< percentage of each step, with per_layer only
    std::size_t m_steps;
};

/// Measures the metric of the request on the dense model and ranks the units by it.
std::unique_ptr<PrunePath> beginRanking(const PruneContext& context, const Progress& progress);
/// Ranks the units in an order drawn uniformly at random.
std::unique_ptr<PrunePath> beginRandom(const PruneContext& context, const Progress& progress);
/// Ranks blocks by their place. The first and the last block are not cut.
std::unique_ptr<PrunePath> beginByPlace(const PruneContext& context, const Progress& progress);

} // namespace secateur
