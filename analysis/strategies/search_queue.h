#pragma once

#include "analysis/metrics/variant_walk.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/held_out_text.h"
#include "analysis/strategies/search_steps.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

/// The parts of the calibration text of a search.
struct SearchTexts {
    const CalibrationText& fitted;  ///< restored weights are fitted to it
    const CalibrationText& heldOut; ///< losses are measured on it
};

/// The beginning of a text: at least a quarter of its tokens, in whole sequences.
CalibrationText beginningOf(const CalibrationText& text);

/// A search for one kind of budget. Its steps can be continued at any time.
class SearchGrowth {
public:
    /// The references must outlive this object. @param of what the price of a step counts
    /// @throws as SequenceLosses
    SearchGrowth(const Model& model, const PruningMask& base, const Savings& savings, SearchTexts texts,
                 StepRules rules, BudgetOf of);

    /// Makes the step that costs least. Returns false if nothing is left to cut. A step that is cancelled leaves no
    /// trace.
    /// @param target percentage to save in the end, for progress @throws Cancelled
    bool grow(double target, const Progress& progress);

    std::size_t steps() const { return m_steps.size(); }
    const PruningMask& maskAfter(std::size_t steps) const { return steps == 0 ? m_base : m_steps[steps - 1].mask; }
    /// The cuts of the first steps; the score is the loss after the step.
    std::vector<OrderedCut> orderAfter(std::size_t steps) const;
    PruneHistory historyAfter(std::size_t steps) const;

    std::int64_t measured() const { return m_measured; } ///< number of candidates whose loss was measured
    std::int64_t skipped() const { return m_skipped; }   ///< number of candidates that waited in the queue at a step
    std::int64_t heldOutTokens() const { return m_walk.losses().tokens(); }

private:
    struct Step {
        PruningMask mask;
        double loss = 0;
        std::vector<OrderedCut> cuts;
    };

    /// A step that waits in the queue with its last measured price.
    struct Candidate {
        int layer = 0;
        StepKind kind = StepKind::heads;
        std::int64_t rise = 0;        ///< of the loss, in 1e-6 nats
        double saved = 0;             ///< percentage of the dense model's amount
        std::int64_t measuredAt = -1; ///< number of steps when it was measured; -1 = not on the whole text
        double loss = 0;
        PruningMask mask; ///< after the step; valid only if it was measured after the latest step
    };

    static bool isCheaper(const Candidate& one, const Candidate& other);
    const PruningMask& mask() const { return maskAfter(m_steps.size()); }
    double lossNow() const { return m_steps.empty() ? m_before : m_steps.back().loss; }
    bool isCurrent(const Candidate& candidate) const { return candidate.measuredAt == std::ssize(m_steps); }
    void begin(const Progress& progress);
    bool prepare(Candidate& candidate, const Progress& progress);
    void measure(Candidate& candidate, const Progress& progress);
    void take(const Candidate& candidate);
    std::vector<OrderedCut> cutsOf(const PruningMask& after, int layer, StepKind kind, double loss) const;
    Progress stepReport(double target, const Progress& progress) const;

    const Model& m_model;
    PruningMask m_base;
    const Savings& m_savings;
    BudgetOf m_of;
    std::shared_ptr<const Plan> m_plan;
    LayerFits m_fits;
    SearchSteps m_candidates;
    VariantWalk m_walk;
    CalibrationText m_beginning; ///< of the held-out text, on which first prices are estimated
    std::vector<Candidate> m_queue;
    std::vector<Step> m_steps;
    double m_before = 0; ///< loss under the base
    bool m_hasBegun = false;
    std::int64_t m_measured = 0;
    std::int64_t m_skipped = 0;
};

} // namespace secateur
