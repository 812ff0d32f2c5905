#include "analysis/metrics/variant_walk.h"
#include "analysis/strategies/search_queue.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

constexpr int mostFailures = 4; ///< exchanges in succession that do not lower the loss
/// Part by which the cost may rise when all weights are fitted again. The cost of the steps is optimistic by some per
/// cent, because the held-out text chose them, so that fits that are better on other texts cost more on it.
constexpr double mostRise = 0.1;

/// The last step of a layer that paid most for what it saves, among layers that were not tried.
std::optional<std::size_t> dearestLastStep(const SearchSequence& steps, const std::set<int>& tried) {
    std::set<int> seen = tried;
    std::optional<std::size_t> dearest;
    const auto price = [&](std::size_t i) { return steps[i].rise / steps[i].saved; };
    for (std::size_t i = steps.size(); i-- > 0;)
        if (steps[i].layer != SearchSteps::allLayers && seen.insert(steps[i].layer).second &&
            (!dearest || price(i) > price(*dearest)))
            dearest = i;
    return dearest;
}

/// Number of heads, neurons or KV groups that a step cuts in each of its layers; 1 for other kinds, which are whole.
std::int64_t unitsCut(const SearchStep& step, const ModelSpec& spec) {
    const bool hasUnits =
        step.kind == StepKind::heads || step.kind == StepKind::neurons || step.kind == StepKind::groups;
    if (!hasUnits || step.cuts.empty())
        return 1;
    const int layer = step.cuts.front().layer;
    const std::int64_t cuts = std::ranges::count(step.cuts, layer, &OrderedCut::layer);
    const LayerSpec& own = spec.layers[static_cast<std::size_t>(layer)];
    return step.kind == StepKind::groups ? std::max<std::int64_t>(cuts * own.kvHeads / own.heads, 1) : cuts;
}

} // namespace

/// While it lives, the search is at an earlier step, and what it does leaves no trace.
class SearchGrowth::Branch {
public:
    Branch(SearchGrowth& growth, std::size_t steps)
        : m_growth(growth)
        , m_queue(growth.m_queue)
        , m_steps(growth.m_steps)
        , m_mask(growth.m_mask)
        , m_loss(growth.m_loss)
        , m_saved(growth.m_saved)
        , m_plan(growth.m_plan)
        , m_counts{growth.m_measured, growth.m_skipped} {
        growth.m_steps.resize(steps, m_steps.front());
        growth.m_isBranch = true;
    }
    ~Branch() {
        m_growth.m_queue = std::move(m_queue);
        m_growth.m_steps = std::move(m_steps);
        m_growth.m_mask = std::move(m_mask);
        m_growth.m_loss = m_loss;
        m_growth.m_saved = m_saved;
        m_growth.m_walk.setPlan(*m_plan);
        m_growth.m_fits.setPlan(*m_plan);
        m_growth.m_plan = std::move(m_plan);
        std::tie(m_growth.m_measured, m_growth.m_skipped) = m_counts;
        m_growth.m_isBranch = false;
    }
    Branch(const Branch&) = delete;
    Branch& operator=(const Branch&) = delete;

private:
    SearchGrowth& m_growth;
    std::vector<WaitingStep> m_queue;
    SearchSequence m_steps;
    PruningMask m_mask;
    double m_loss;
    double m_saved;
    std::shared_ptr<const Plan> m_plan;
    std::pair<std::int64_t, std::int64_t> m_counts; ///< of the note, without exchanges
};

/// Removes a step from a sequence, and its kind in this layer from the queue. Returns false if the other steps that
/// wait would cost at least as much by their last prices.
bool SearchGrowth::undo(const SearchSequence& from, std::size_t step, const Progress& progress) {
    const SearchStep& undone = from[step];
    const PruningMask& before = step == 0 ? m_base : from[step - 1].mask;
    PruningMask mask = from.back().mask;
    mask.setLayer(undone.layer, before.layer(undone.layer));
    m_steps = from;
    m_steps.erase(m_steps.begin() + static_cast<std::ptrdiff_t>(step));
    m_queue = from.back().waiting;
    std::erase_if(m_queue, [&](const Candidate& candidate) {
        return candidate.layer == undone.layer && candidate.kind == undone.kind;
    });
    for (Candidate& candidate : m_queue)
        candidate.measuredAt = -1;
    const double savedBefore = m_savings.percentage(from.back().mask, m_of);
    setMask(mask);
    m_loss = roundedMeanLoss(m_walk.whole(progress));
    m_steps.back().mask = std::move(mask); // the step before the exchange now ends here
    m_steps.back().loss = m_loss;
    const auto cheapest = std::ranges::min_element(m_queue, isCheaper);
    if (cheapest == m_queue.end())
        return false;
    const double price = std::max(0.0, static_cast<double>(cheapest->rise) / lossSteps / cheapest->saved);
    return m_loss + price * (savedBefore - m_saved) < from.back().loss;
}

SearchSequence SearchGrowth::exchanged(std::size_t steps, double target, const Progress& progress) {
    SearchSequence best = sequence(steps);
    if (best.size() < 2)
        return best;
    const Branch branch(*this, steps);
    std::set<int> tried; // layers
    int failures = 0;
    while (failures < mostFailures && !(m_watch.isEnough && m_watch.isEnough())) {
        const auto step = dearestLastStep(best, tried);
        if (!step || best.size() < 2)
            break;
        tried.insert(best[*step].layer);
        ++m_undone;
        ++failures;
        const Progress report = stepReport(target, progress);
        if (!undo(best, *step, report))
            continue;
        while (m_saved < target && m_loss < best.back().loss && makeStep(report)) {
        }
        if (m_saved < target || m_loss >= best.back().loss)
            continue;
        best = m_steps;
        failures = 0;
        ++m_swapped;
    }
    return best;
}

/// Makes a step again with as few units as the target needs. Keeps it as it was if that raises the loss.
void SearchGrowth::shorten(SearchSequence& steps, std::size_t index, double target, const Progress& progress) {
    const SearchStep step = steps[index];
    const std::int64_t units = unitsCut(step, m_model.spec());
    const double excess = m_savings.percentage(steps.back().mask, m_of) - target;
    const std::int64_t left = units - static_cast<std::int64_t>(excess / step.saved * static_cast<double>(units));
    if (left >= units || left < 1)
        return;
    const PruningMask& before = index == 0 ? m_base : steps[index - 1].mask;
    PruningMask mask = step.layer == SearchSteps::allLayers ? before : steps.back().mask;
    if (step.layer != SearchSteps::allLayers)
        mask.setLayer(step.layer, before.layer(step.layer));
    setMask(mask);
    const Candidate place{.layer = step.layer, .kind = step.kind};
    const auto shorter = m_candidates.next(mask, step.layer, step.kind, progress, static_cast<std::size_t>(left));
    if (!shorter || m_savings.percentage(*shorter, m_of) < target)
        return;
    const double loss = roundedMeanLoss(m_walk.whole(*m_model.runner().plan(*shorter, m_plan->type()), progress));
    if (loss > steps.back().loss)
        return;
    steps[index].cuts = cutsOf(*shorter, place);
    steps[index].saved = m_savings.percentage(*shorter, m_of) - m_saved;
    steps.back().mask = *shorter;
    steps.back().loss = loss;
}

SearchSequence SearchGrowth::trimmed(SearchSequence steps, double target, const Progress& progress) {
    if (steps.empty())
        return steps;
    const Branch branch(*this, m_steps.size());
    const Progress report = stepReport(target, progress);
    if (steps.back().layer == SearchSteps::allLayers)
        shorten(steps, steps.size() - 1, target, report);
    std::set<int> tried; // layers
    while (const auto step = dearestLastStep(steps, tried)) {
        tried.insert(steps[*step].layer);
        shorten(steps, *step, target, report);
    }
    return steps;
}

SearchSequence SearchGrowth::refitted(SearchSequence steps, double target, const Progress& progress) {
    if (steps.empty() || !canCompensate(m_model.spec(), steps.back().mask))
        return steps;
    const Progress report = stepReport(target, progress);
    const PruningMask mask =
        fitCompensation(m_model, steps.back().mask, CompensationMode::weights, m_fitText, report).mask;
    const double loss = roundedMeanLoss(m_walk.whole(*m_model.runner().plan(mask, m_plan->type()), report));
    if (loss <= steps.back().loss * (1 + mostRise)) {
        steps.back().mask = mask;
        steps.back().loss = loss;
    }
    return steps;
}

} // namespace secateur
