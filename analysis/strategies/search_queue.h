#pragma once

#include "analysis/compensation/fit_compensation.h"
#include "analysis/metrics/variant_walk.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/held_out_text.h"
#include "analysis/strategies/search_steps.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace secateur {

// For sources only: includes ATen.

/// The parts of the calibration text of a search.
struct SearchTexts {
    const CalibrationText& fitted;  ///< restored weights are fitted to it
    const CalibrationText& heldOut; ///< losses are measured on it
};

inline constexpr double lossSteps = 1e6; ///< losses are compared after rounding to so many parts of a nat
/// The mean loss of a text, rounded.
double roundedMeanLoss(std::span<const WindowLoss> losses);

/// A step that waits in the queue of a search with its last measured price.
struct WaitingStep {
    int layer = 0; ///< or SearchSteps::allLayers
    StepKind kind = StepKind::heads;
    std::int64_t rise = 0;        ///< of the loss, in 1e-6 nats
    double saved = 0;             ///< percentage of the dense model's amount
    std::int64_t measuredAt = -1; ///< number of steps when it was measured; -1 = not at this state
    double loss = 0;
    std::optional<PruningMask> mask = {}; ///< after the step; only of the present number of steps
};

/// A step that a search has made.
struct SearchStep {
    PruningMask mask; ///< after the step
    double loss = 0;
    double rise = 0; ///< of the loss, in nats
    double saved = 0;
    int layer = 0;
    StepKind kind = StepKind::heads;
    std::vector<OrderedCut> cuts;
    std::vector<WaitingStep> waiting; ///< the queue after the step
};
using SearchSequence = std::vector<SearchStep>;

/// The cuts of a sequence; the score is the loss after the step.
std::vector<OrderedCut> orderOf(const SearchSequence& steps);

/// A search for one kind of budget. Its steps can be continued at any time.
class SearchGrowth {
public:
    /// The references must outlive this object. @param of what the price of a step counts
    /// @param watch only its prices are used @throws as SequenceLosses
    SearchGrowth(const Model& model, const PruningMask& base, const Savings& savings, SearchTexts texts,
                 StepRules rules, BudgetOf of, const PruneWatch& watch);

    /// Makes the step that costs least. Returns false if nothing is left to cut. A step that is cancelled leaves no
    /// trace.
    /// @param target percentage to save in the end, for progress @throws Cancelled
    bool grow(double target, const Progress& progress);

    std::size_t steps() const { return m_steps.size(); }
    const PruningMask& maskAfter(std::size_t steps) const { return steps == 0 ? m_base : m_steps[steps - 1].mask; }
    double lossAfter(std::size_t steps) const { return steps == 0 ? m_before : m_steps[steps - 1].loss; }
    SearchSequence sequence(std::size_t steps) const {
        return {m_steps.begin(), m_steps.begin() + static_cast<std::ptrdiff_t>(steps)};
    }
    PruneHistory historyOf(const SearchSequence& steps) const;

    /// The steps, of which the last ones of some layers cut fewer units or are removed, so that no more than `target`
    /// per cent are saved, as far as whole units allow. The dearest step comes first. None is changed if this raises
    /// the measured loss. @throws Cancelled
    SearchSequence trimmed(SearchSequence steps, double target, const Progress& progress);

    /// The trimmed steps, of which the last ones of some layers are exchanged for others while the measured loss falls
    /// and `target` per cent are saved. @param grown steps up to the first that saves the target @throws Cancelled
    SearchSequence exchanged(const SearchSequence& grown, double target, const Progress& progress);

    /// The steps, with the restored weights of all layers fitted again to the inputs that they have in the end
    /// (fitCompensation()), unless the measured loss rises by more than a tenth. @throws Cancelled
    SearchSequence refitted(SearchSequence steps, double target, const Progress& progress);

    std::int64_t measured() const { return m_measured; } ///< number of candidates whose loss was measured
    std::int64_t skipped() const { return m_skipped; }   ///< number of candidates that waited in the queue at a step
    std::int64_t undone() const { return m_undone; }     ///< number of steps that exchanged() tried to exchange
    std::int64_t swapped() const { return m_swapped; }   ///< number of exchanges that lowered the loss
    std::int64_t heldOutTokens() const { return m_walk.losses().tokens(); }

private:
    using Candidate = WaitingStep;
    class Branch;

    bool isEnough() const { return m_watch.isEnough && m_watch.isEnough(); }
    std::string measure() const; ///< PruneHistory::measure of the losses
    double usefulSaving(const Candidate& candidate) const;
    using Priority = std::tuple<bool, double, int, StepKind>;
    Priority priorityOf(const Candidate& candidate) const;
    std::vector<Candidate>::iterator cheapest(std::ptrdiff_t from = 0);
    bool isCurrent(const Candidate& candidate) const { return candidate.measuredAt == std::ssize(m_steps); }
    void begin(const Progress& progress);
    std::vector<Candidate> firstSteps(int layer, VariantWalk& walk, double before, const Progress& progress);
    std::vector<double> losses(VariantWalk& walk, std::span<const Candidate> candidates, const Progress& progress);
    bool prepare(Candidate& candidate, const Progress& progress);
    void measure(Candidate& candidate, const Progress& progress);
    bool renewFirst(const Progress& progress);
    bool isCheapEnough(const Candidate& first);
    bool makeStep(const Progress& progress);
    void setMask(const PruningMask& mask);
    bool undo(const SearchSequence& from, std::size_t step, double most, const Progress& progress);
    std::optional<SearchSequence> withOthers(const SearchSequence& from, std::size_t step, double most,
                                             const Progress& progress);
    PruningMask without(const SearchSequence& steps, std::size_t step) const;
    bool shorten(SearchSequence& steps, std::size_t step, double target, const Progress& progress);
    std::vector<Candidate> knownSteps(int layer);
    std::optional<StepPrice> knownPrice(const Candidate& candidate);
    StepPrice priceOf(const Candidate& candidate) const;
    void record(std::span<const StepPrice> prices) const;
    void take(const Candidate& candidate);
    std::vector<OrderedCut> cutsOf(const PruningMask& after, const Candidate& candidate) const;
    Progress stepReport(double target, const Progress& progress) const;

    const Model& m_model;
    PruningMask m_base;
    const Savings& m_savings;
    BudgetOf m_of;
    std::shared_ptr<const Plan> m_plan;
    FitText m_fitText;
    LayerFits m_fits;
    SearchSteps m_candidates;
    VariantWalk m_walk;
    TextPart m_beginning; ///< of the held-out text, on which first prices are estimated
    std::vector<Candidate> m_queue;
    SearchSequence m_steps;
    PruningMask m_mask;  ///< the present one: that of the last step, except within exchanged() and trimmed()
    double m_loss = 0;   ///< under the present mask
    double m_before = 0; ///< loss under the base
    double m_saved = 0;  ///< percentage that the present mask saves
    double m_target = std::numeric_limits<double>::infinity(); ///< percentage that an exchange must save
    bool m_isBranch = false; ///< whether steps are those of an exchange, whose prices are not recorded
    bool m_hasBegun = false;
    const PruneWatch& m_watch;
    std::deque<StepPrice> m_known; ///< prices of an interrupted search that are still to come
    std::int64_t m_measured = 0;
    std::int64_t m_skipped = 0;
    std::int64_t m_undone = 0;
    std::int64_t m_swapped = 0;
};

} // namespace secateur
