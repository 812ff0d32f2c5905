#pragma once

#include "analysis/strategies/prune.h"
#include "analysis/strategies/unit_ranking.h"

#include <compare>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace secateur {

/// Which heads of a layer are cut if several heads share keys and values.
enum class HeadChoice {
    any,         ///< those with the lowest scores
    perGroup,    ///< the same number in each KV group
    wholeGroups, ///< all heads of some KV groups
};

/// Numbers of units in a layer.
struct LayerCounts {
    int heads = 0;
    int neurons = 0;
    HeadChoice choice = HeadChoice::any;
    auto operator<=>(const LayerCounts&) const = default;
};

/// A strategy that cuts about the same share, the ratio, of the units of each layer.
class RatioRule {
public:
    RatioRule(const PruneContext& context, CutComponents components);
    virtual ~RatioRule() = default;

    /// The ratio of a budget in the strategy's own units. @throws UsageError
    virtual double ratio(const Budget& budget) const = 0;
    /// The largest budget with at most this ratio. Percentages are rounded down to a multiple of 0.01.
    virtual Budget budget(double ratio, bool isPercentage) const = 0;
    /// Ratios from 0 to 1 in ascending order, one for each change of a count in some layer.
    virtual std::vector<double> ratios() const = 0;
    /// The numbers of cuts in a layer, which may be larger than available(). Kinds of which none is available are
    /// left out.
    virtual LayerCounts counts(int layer, double ratio) const = 0;
    /// The mask with these numbers of cuts in each layer.
    virtual PruneResult cut(std::span<const LayerCounts> counts, const Progress& progress) = 0;
    /// Bounds of the savings of cut(), for a rule whose cuts are not known without measuring.
    virtual std::optional<SavingsBounds> savingsBounds(std::span<const LayerCounts> /*counts*/) const {
        return std::nullopt;
    }
    /// PrunePath::longestDip() of steps with these ratios.
    virtual std::size_t longestDip(std::span<const double> /*ratios*/) const { return 0; }

    std::size_t layers() const { return m_available.size(); }
    /// For each layer, the numbers of units of the strategy's components that can be cut. 0 in later layers of a group
    /// that shares its weights. Layers without attention scores have no heads.
    const LayerCounts& available(int layer) const { return m_available[static_cast<std::size_t>(layer)]; }

protected:
    const PruneContext& m_context;
    CutComponents m_components;
    LayerRanking m_heads;   ///< heads that can be cut, in no particular order
    LayerRanking m_neurons; ///< neurons that can be cut, in no particular order

private:
    std::vector<LayerCounts> m_available;
};

/// The path of such a strategy. A step is the smallest rise of the ratio that changes a count in some layer.
class RatioPath : public PrunePath {
public:
    explicit RatioPath(std::unique_ptr<RatioRule> rule);

    std::size_t steps() const override { return m_ratios.size(); }
    PruneResult after(std::size_t steps, const Progress& progress) override;
    PruneResult spend(const Budget& budget, const Progress& progress) override;
    std::optional<SavingsBounds> savingsBounds(std::size_t steps) const override;
    std::size_t longestDip() const override { return m_rule->longestDip(m_ratios); }

    /// Numbers of cuts in each layer for a budget in the strategy's own units. @throws BudgetTooLarge, UsageError
    std::vector<LayerCounts> countsFor(const Budget& budget) const;
    /// Checks the budget of the request if PruneContext::checksBudget says so. @throws as countsFor()
    void checkBudget(const PruneContext& context) const;

private:
    std::vector<LayerCounts> countsAt(double ratio) const;
    bool hasUnits() const; ///< whether any unit can be cut
    bool isPossible(std::span<const LayerCounts> counts) const;
    double ratioAfter(std::size_t steps) const { return steps == 0 ? 0 : m_ratios[steps - 1]; }

    std::unique_ptr<RatioRule> m_rule;
    std::vector<double> m_ratios; ///< ratio of each step
};

/// Sorts ratios and removes repeated ones.
std::vector<double> ascending(std::vector<double> ratios);

} // namespace secateur
