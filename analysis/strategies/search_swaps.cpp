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

/// Where steps undo only each other: a layer, or one kind of sublayer in all layers.
struct StepPlace {
    int layer = 0;
    bool isMlp = false; ///< only of steps in all layers
    auto operator<=>(const StepPlace&) const = default;
};

StepPlace placeOf(const SearchStep& step) {
    return {step.layer, step.layer == SearchSteps::allLayers && step.kind == StepKind::neurons};
}

/// The last step of a place that paid most for what it saves, among places that were not tried.
std::optional<std::size_t> dearestLastStep(const SearchSequence& steps, const std::set<StepPlace>& tried) {
    std::set<StepPlace> seen = tried;
    std::optional<std::size_t> dearest;
    const auto price = [&](std::size_t i) { return steps[i].rise / steps[i].saved; };
    for (std::size_t i = steps.size(); i-- > 0;)
        if (seen.insert(placeOf(steps[i])).second && (!dearest || price(i) > price(*dearest)))
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

/// Whether a step cuts several units of one layer, which can be left out one by one.
bool canBeShortened(const SearchStep& step, const ModelSpec& spec) {
    return step.layer != SearchSteps::allLayers && unitsCut(step, spec) > 1;
}

/// A layer with the MLP of another mask, or with its attention.
LayerMask withSublayer(LayerMask own, const LayerMask& other, bool isMlp) {
    if (isMlp)
        own.neurons = other.neurons;
    else
        own.heads = other.heads;
    own.compensation = joinedCompensation(compensationOf(isMlp ? own : other).ofAttention(),
                                          compensationOf(isMlp ? other : own).ofMlp());
    return own;
}

} // namespace

/// While it lives, what the search does leaves no trace.
class SearchGrowth::Branch {
public:
    explicit Branch(SearchGrowth& growth)
        : m_growth(growth)
        , m_queue(growth.m_queue)
        , m_steps(growth.m_steps)
        , m_mask(growth.m_mask)
        , m_loss(growth.m_loss)
        , m_saved(growth.m_saved)
        , m_target(growth.m_target)
        , m_plan(growth.m_plan)
        , m_counts{growth.m_measured, growth.m_skipped}
        , m_wasBranch(growth.m_isBranch) {
        growth.m_isBranch = true;
    }
    ~Branch() {
        m_growth.m_queue = std::move(m_queue);
        m_growth.m_steps = std::move(m_steps);
        m_growth.m_mask = std::move(m_mask);
        m_growth.m_loss = m_loss;
        m_growth.m_saved = m_saved;
        m_growth.m_target = m_target;
        m_growth.m_walk.setPlan(*m_plan);
        m_growth.m_fits.setPlan(*m_plan);
        m_growth.m_plan = std::move(m_plan);
        std::tie(m_growth.m_measured, m_growth.m_skipped) = m_counts;
        m_growth.m_isBranch = m_wasBranch;
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
    double m_target;
    std::shared_ptr<const Plan> m_plan;
    std::pair<std::int64_t, std::int64_t> m_counts; ///< of the note, without exchanges
    bool m_wasBranch;
};

/// Removes a step from a sequence, and its kind in this layer from the queue. Returns false if the other steps that
/// wait would make the loss at least `most` by their last prices.
bool SearchGrowth::undo(const SearchSequence& from, std::size_t step, double most, const Progress& progress) {
    const SearchStep& undone = from[step];
    PruningMask mask = without(from, step);
    m_steps = from;
    m_steps.erase(m_steps.begin() + static_cast<std::ptrdiff_t>(step));
    m_queue = from.back().waiting;
    std::erase_if(m_queue, [&](const Candidate& candidate) {
        return candidate.layer == undone.layer && candidate.kind == undone.kind;
    });
    for (Candidate& candidate : m_queue)
        candidate.measuredAt = -1;
    setMask(mask);
    m_loss = roundedMeanLoss(m_walk.whole(progress));
    m_steps.back().mask = std::move(mask); // the step before the exchange now ends here
    m_steps.back().loss = m_loss;
    const auto next = cheapest();
    if (next == m_queue.end())
        return false;
    const double price = std::max(0.0, static_cast<double>(next->rise) / lossSteps / usefulSaving(*next));
    return m_loss + price * std::max(m_target - m_saved, 0.0) < most;
}

/// The steps, of which one is exchanged for others until the target is saved. Empty if the loss is not lower than
/// `most`.
std::optional<SearchSequence> SearchGrowth::withOthers(const SearchSequence& from, std::size_t step, double most,
                                                       const Progress& progress) {
    if (from.size() < 2 || !undo(from, step, most, progress))
        return std::nullopt;
    while (m_saved < m_target && m_loss < most && !isEnough() && makeStep(progress)) {
    }
    if (m_saved < m_target)
        return std::nullopt;
    SearchSequence other = trimmed(m_steps, m_target, progress);
    return other.back().loss < most ? std::optional(std::move(other)) : std::nullopt;
}

SearchSequence SearchGrowth::exchanged(const SearchSequence& grown, double target, const Progress& progress) {
    SearchSequence best = trimmed(grown, target, progress);
    const Branch branch(*this);
    m_target = target;
    std::set<StepPlace> tried;
    int failures = 0;
    const auto exchange = [&](const SearchSequence& from, std::size_t step) {
        ++m_undone;
        ++failures;
        auto other = withOthers(from, step, best.back().loss, stepReport(target, progress));
        if (!other)
            return;
        best = std::move(*other);
        failures = 0;
        ++m_swapped;
    };
    // The step that reached the target may save much more than was left. Trimming then removed cheaper steps for it.
    if (!grown.empty() && !canBeShortened(grown.back(), m_model.spec()))
        exchange(grown, grown.size() - 1);
    while (failures < mostFailures && !isEnough()) {
        const auto step = dearestLastStep(best, tried);
        if (!step)
            break;
        tried.insert(placeOf(best[*step]));
        exchange(best, *step);
    }
    return best;
}

/// A mask without what a step and later ones cut in its layer; or in its sublayer, in all layers that are left.
PruningMask SearchGrowth::without(const SearchSequence& steps, std::size_t step) const {
    const PruningMask& before = step == 0 ? m_base : steps[step - 1].mask;
    PruningMask mask = steps.back().mask;
    const StepPlace place = placeOf(steps[step]);
    for (int layer = 0; layer < mask.layerCount(); ++layer)
        if (place.layer == layer)
            mask.setLayer(layer, before.layer(layer));
        else if (place.layer == SearchSteps::allLayers && mask.layer(layer).block)
            mask.setLayer(layer, withSublayer(mask.layer(layer), before.layer(layer), place.isMlp));
    return mask;
}

/// Makes a step again with as few units as the target needs, or removes it. Returns false, and leaves the steps as they
/// are, if it is needed whole or the loss would rise.
bool SearchGrowth::shorten(SearchSequence& steps, std::size_t index, double target, const Progress& progress) {
    const Candidate place{.layer = steps[index].layer, .kind = steps[index].kind};
    const std::int64_t units = unitsCut(steps[index], m_model.spec());
    const double excess = (m_savings.percentage(steps.back().mask, m_of) - target) / steps[index].saved;
    const std::int64_t left = units - static_cast<std::int64_t>(excess * static_cast<double>(units));
    if (left >= units)
        return false;
    setMask(without(steps, index));
    const auto mask = left > 0
                          ? m_candidates.next(m_mask, place.layer, place.kind, progress, static_cast<std::size_t>(left))
                          : std::optional(m_mask);
    const auto& allows = m_candidates.rules().allows;
    if (!mask || (allows && !allows(*mask)) || m_savings.percentage(*mask, m_of) < target)
        return false;
    const double loss = roundedMeanLoss(m_walk.whole(*m_model.runner().plan(*mask, m_plan->type()), progress));
    if (loss > steps.back().loss)
        return false;
    if (left > 0) {
        const double saved = m_savings.percentage(*mask, m_of) - m_saved;
        steps[index].cuts = cutsOf(*mask, place);
        steps[index].rise *= saved / steps[index].saved; // at the same price
        steps[index].saved = saved;
    } else {
        steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(index));
    }
    steps.back().mask = *mask;
    steps.back().loss = loss;
    return true;
}

SearchSequence SearchGrowth::trimmed(SearchSequence steps, double target, const Progress& progress) {
    if (steps.empty())
        return steps;
    const Branch branch(*this);
    const Progress report = stepReport(target, progress);
    std::set<StepPlace> tried;
    while (const auto step = dearestLastStep(steps, tried)) {
        const std::size_t before = steps.size();
        const StepPlace place = placeOf(steps[*step]);
        if (!shorten(steps, *step, target, report) || steps.size() == before)
            tried.insert(place); // the step stays the last one
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
