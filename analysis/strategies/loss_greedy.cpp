#include "analysis/strategies/loss_greedy.h"

#include "analysis/base/error.h"
#include "analysis/strategies/loss_steps.h"
#include "analysis/strategies/step_progress.h"
#include "analysis/strategies/unit_ranking.h"

#include <ATen/ATen.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr std::array removableUnits{CutUnit::head, CutUnit::attention, CutUnit::mlp, CutUnit::block};

std::vector<CutUnit> removedUnitsOf(const StrategyRequest& request) {
    return unitsOption(request, removableUnits);
}

class LossGreedyPath : public PrunePath {
public:
    explicit LossGreedyPath(const PruneContext& context)
        : m_model(context.model)
        , m_text(*context.inputs.text)
        , m_base(context.base)
        , m_units(removedUnitsOf(context.request.strategy))
        , m_parts(removableParts(context.spec(), m_base, m_units, context.protection))
        , m_steps(
              m_model, m_base, variantText(m_text),
              {m_units, context.protection, m_text.type, context.request.strategy.flag("screen"), m_text.streamBytes})
        , m_mask(m_base) {
        m_history.measure = "loss_nats";
        if (context.checksBudget && context.request.budget.of == BudgetOf::own)
            count(context.request.budget);
    }

    std::size_t steps() const override { return m_parts.size(); }
    bool measuresSteps() const override { return true; }

    PruneResult after(std::size_t steps, const Progress& progress) override {
        grow(std::min(steps, m_parts.size()), progress);
        return resultOf(std::min(steps, m_order.size()));
    }

    PruneResult spend(const Budget& budget, const Progress& progress) override {
        const std::size_t wanted = count(budget);
        grow(wanted, progress);
        // Cutting a sublayer or a block removes other candidates, so that there may be fewer steps than units.
        return resultOf(unitsFor(budget, pluralOf(m_units), countOf(m_model.spec(), m_units),
                                 std::max(m_order.size(), m_isExhausted ? 0 : wanted)));
    }

    std::optional<PruningMask> everything() const override {
        PruningMask mask = m_base;
        for (const AblationPart& part : m_parts)
            cutUnits(mask, m_model.spec(), m_units[part.request], part.layer,
                     std::array{static_cast<int>(part.column)});
        return mask;
    }

private:
    std::size_t count(const Budget& budget) const {
        return unitsFor(budget, pluralOf(m_units), countOf(m_model.spec(), m_units), m_parts.size());
    }

    /// Makes steps until there are `steps` of them, or no unit is left. A step that is cancelled leaves no trace.
    void grow(std::size_t steps, const Progress& progress) {
        if (!m_hasBegun) {
            m_history.before =
                m_steps.loss(m_base, stepProgress(progress, 0, std::max<std::size_t>(1, steps)).part(0, 0));
            m_hasBegun = true;
        }
        while (m_order.size() < steps && !m_isExhausted) {
            const double now = m_order.empty() ? m_history.before : m_history.cuts.back().value;
            const auto step = m_steps.next(m_mask, now, stepProgress(progress, m_order.size(), steps));
            if (step)
                add(*step, now);
            else
                m_isExhausted = true;
        }
    }

    void add(const LossStep& step, double before) {
        const int index = static_cast<int>(step.part.column);
        m_mask.setLayer(step.part.layer, step.part.without);
        m_order.push_back({step.unit, step.part.layer, index, step.loss});
        m_history.cuts.push_back(
            {static_cast<int>(m_order.size()), {step.part.layer, index}, step.loss - before, step.loss, step.unit});
    }

    PruneResult resultOf(std::size_t steps) const {
        m_model.checkFiles();
        PruneResult result{.mask = m_base, .history = m_history, .data = m_text.data, .textDigest = m_text.digest};
        result.order.assign(m_order.begin(), m_order.begin() + static_cast<std::ptrdiff_t>(steps));
        for (const OrderedCut& cut : result.order)
            cutUnits(result.mask, m_model.spec(), cut.unit, cut.layer, std::array{cut.index});
        result.history->cuts.resize(steps);
        result.history->steps = static_cast<int>(steps);
        if (m_steps.measured() < m_steps.tried())
            result.warnings.push_back(fmt::format("screened: {} of {} losses were measured, the others predicted",
                                                  m_steps.measured(), m_steps.tried()));
        return result;
    }

    const Model& m_model;
    const CalibrationText& m_text;
    const PruningMask& m_base;
    std::vector<CutUnit> m_units;
    std::vector<AblationPart> m_parts; ///< the units that can be cut
    LossSteps m_steps;
    PruningMask m_mask; ///< after all steps so far
    PruneHistory m_history;
    std::vector<OrderedCut> m_order;
    bool m_hasBegun = false;
    bool m_isExhausted = false; ///< whether no unit is left
};

} // namespace

std::unique_ptr<PrunePath> beginLossGreedy(const PruneContext& context, const Progress& /*progress*/) {
    return std::make_unique<LossGreedyPath>(context);
}

double lossGreedyPasses(const ModelSpec& spec, const PruneRequest& request) {
    const std::vector<CutUnit> units = removedUnitsOf(request.strategy);
    const std::size_t most =
        removableParts(spec, request.base.value_or(PruningMask(spec)), units, Protection::parse(request.protect, spec))
            .size();
    const std::size_t steps = request.budget.of == BudgetOf::own
                                  ? unitsFor(request.budget, pluralOf(units), countOf(spec, units), most)
                                  : most;
    const double each = meanRemovalPasses(spec, units);
    double passes = 1;
    for (std::size_t step = 0; step < steps; ++step)
        passes += stepPasses(static_cast<double>(most - step), each, step > 0 && request.strategy.flag("screen"));
    return passes;
}

void checkLossGreedyOptions(const StrategyRequest& request) {
    removedUnitsOf(request);
}

} // namespace secateur
