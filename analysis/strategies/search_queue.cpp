#include "analysis/strategies/search_queue.h"

#include "analysis/base/text.h"
#include "analysis/evaluation/evaluation.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/running/padded_batches.h"
#include "analysis/running/pooled_outputs.h"
#include "analysis/strategies/loss_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

constexpr double beginningShare = 0.2; ///< of the progress, for the first prices

/// The text of a walk. For an encoder without a head, with the pooled outputs of the dense model.
VariantText searchText(const Model& model, const CalibrationText& text, const StepRules& rules) {
    VariantText own = variantText(text);
    if (model.spec().family != Family::encoder)
        own.divergenceShare = rules.divergence;
    if (givesPooledOutput(model))
        own.pooled = pooledOutputs(model, *model.runner().plan(PruningMask(model.spec()), text.type),
                                   paddedBatches(model, text.sequences, text.batchTokens), {});
    return own;
}

bool cutsUnits(StepKind kind) {
    return kind == StepKind::heads || kind == StepKind::neurons || kind == StepKind::groups ||
           kind == StepKind::headsOfGroups;
}

} // namespace

double roundedMeanLoss(std::span<const WindowLoss> losses) {
    return std::round(meanLoss(losses) * lossSteps) / lossSteps;
}

SearchGrowth::SearchGrowth(const Model& model, const PruningMask& base, const Savings& savings, SearchTexts texts,
                           StepRules rules, BudgetOf of, const PruneWatch& watch)
    : m_model(model)
    , m_base(base)
    , m_savings(savings)
    , m_of(of)
    , m_plan(model.runner().plan(base, texts.heldOut.type))
    , m_fitText{texts.fitted.sequences, texts.fitted.batchTokens, m_plan->type()}
    , m_fits(model, *m_plan, texts.fitted.sequences, texts.fitted.batchTokens, texts.fitted.streamBytes)
    , m_candidates(model, m_fits, std::move(rules))
    , m_walk(model, *m_plan, searchText(model, texts.heldOut, m_candidates.rules()))
    , m_beginning(firstQuarter(texts.heldOut))
    , m_mask(base)
    , m_watch(watch) {
    std::ranges::copy_if(watch.known, std::back_inserter(m_known),
                         [&](const StepPrice& price) { return price.of == of; });
    m_walk.keepInputs(0, model.spec().layerCount() - 1, texts.heldOut.streamBytes / 4);
}

/// The percentage that a candidate saves. In an exchange, a whole sublayer counts only as far as the target needs it;
/// steps of units count in full, because they can be shortened.
double SearchGrowth::usefulSaving(const Candidate& candidate) const {
    return cutsUnits(candidate.kind) ? candidate.saved : std::min(candidate.saved, m_target - m_saved);
}

/// The lowest goes first: rises of 0 or less, the larger saving first; then the lowest rise for what is saved. Ties go
/// to the lower layer, then to the first kind.
SearchGrowth::Priority SearchGrowth::priorityOf(const Candidate& candidate) const {
    const bool isFree = candidate.rise <= 0;
    const double saved = usefulSaving(candidate);
    return {!isFree, isFree ? -saved : static_cast<double>(candidate.rise) / saved, candidate.layer, candidate.kind};
}

/// The candidate with the lowest priority value, from a position of the queue on.
std::vector<SearchGrowth::Candidate>::iterator SearchGrowth::cheapest(std::ptrdiff_t from) {
    const auto priority = [this](const Candidate& candidate) { return priorityOf(candidate); };
    return std::ranges::min_element(m_queue.begin() + from, m_queue.end(), {}, priority);
}

Progress SearchGrowth::stepReport(double target, const Progress& progress) const {
    const double share = target > 0 ? std::clamp(m_saved / target, 0.0, 1.0) : 1;
    const double first = m_hasBegun ? beginningShare + (1 - beginningShare) * share : 0;
    const double last = m_hasBegun ? first : beginningShare;
    std::string state = fmt::format("{:.1f} of {:.6g}% saved", m_saved, target);
    if (m_hasBegun)
        state += fmt::format(", {} steps, {} {} -> {}", m_steps.size(), measure() == "loss_nats" ? "loss" : "cost",
                             significant(m_before, 5), significant(m_loss, 5));
    return Progress(
        [own = progress.part(first, last), state = std::move(state)](double fraction, std::string_view text) {
            own.report(fraction, fmt::format("{}, {}", state, text));
        });
}

/// Builds a candidate under the present mask. Returns false if there is nothing to cut or to save.
bool SearchGrowth::prepare(Candidate& candidate, const Progress& progress) {
    progress.report(0, candidate.layer == SearchSteps::allLayers ? std::string("all layers")
                                                                 : fmt::format("layer {}", candidate.layer));
    candidate.mask = m_candidates.next(m_mask, candidate.layer, candidate.kind, progress);
    if (!candidate.mask)
        return false;
    candidate.saved = m_savings.percentage(*candidate.mask, m_of) - m_saved;
    return candidate.saved > 0;
}

/// The losses under candidates of one layer, or of all layers.
std::vector<double> SearchGrowth::losses(VariantWalk& walk, std::span<const Candidate> candidates,
                                         const Progress& progress) {
    std::vector<double> found;
    std::vector<LayerVariant> variants;
    const int layer = candidates.front().layer;
    for (const Candidate& candidate : candidates)
        if (layer == SearchSteps::allLayers)
            found.push_back(
                roundedMeanLoss(walk.whole(*m_model.runner().plan(*candidate.mask, m_plan->type()), progress)));
        else // each in a group of its own, so that rounding does not depend on the others
            variants.push_back({candidate.mask->layer(layer), variants.size()});
    if (variants.empty())
        return found;
    walk.goTo(layer, progress);
    for (const auto& one : walk.under(variants, fmt::format("candidates of layer {}", layer), progress))
        found.push_back(roundedMeanLoss(one));
    return found;
}

/// Measures a candidate on the whole held-out text.
void SearchGrowth::measure(Candidate& candidate, const Progress& progress) {
    candidate.loss = losses(m_walk, std::span(&candidate, 1), progress).front();
    candidate.rise = std::llround((candidate.loss - m_loss) * lossSteps);
    candidate.measuredAt = std::ssize(m_steps);
}

/// The first steps in a layer, or in all layers. Their prices are estimated on the beginning of the held-out text.
std::vector<SearchGrowth::Candidate> SearchGrowth::firstSteps(int layer, VariantWalk& walk, double before,
                                                              const Progress& progress) {
    std::vector<Candidate> own;
    for (const StepKind kind : m_candidates.rules().kinds) {
        const bool isPlace = (m_candidates.rules().isUniform && cutsUnits(kind)) == (layer == SearchSteps::allLayers);
        Candidate candidate{.layer = layer, .kind = kind};
        if (isPlace && prepare(candidate, progress))
            own.push_back(std::move(candidate));
    }
    if (own.empty())
        return own;
    const std::vector<double> found = losses(walk, own, progress);
    std::vector<StepPrice> prices;
    for (std::size_t i = 0; i < own.size(); ++i) {
        own[i].rise = std::llround((found[i] - before) * lossSteps);
        own[i].mask.reset();
        prices.push_back(priceOf(own[i]));
    }
    record(prices);
    return own;
}

/// Estimates the prices of all first steps.
void SearchGrowth::begin(const Progress& progress) {
    m_queue.clear();
    m_before = m_loss = roundedMeanLoss(m_walk.whole(progress));
    const CalibrationText beginning = m_beginning.text();
    VariantWalk walk(m_model, *m_plan, searchText(m_model, beginning, m_candidates.rules()));
    const double before = roundedMeanLoss(walk.whole(progress));
    const int layers = m_model.spec().layerCount();
    for (int layer = SearchSteps::allLayers; layer < layers; ++layer) {
        const double done = static_cast<double>(std::max(layer, 0)) / layers;
        std::vector<Candidate> own = knownSteps(layer);
        if (own.empty())
            own = firstSteps(layer, walk, before, progress.part(done, done));
        std::ranges::move(own, std::back_inserter(m_queue));
    }
    m_hasBegun = true;
}

/// The first steps in a layer that an interrupted search has estimated.
std::vector<SearchGrowth::Candidate> SearchGrowth::knownSteps(int layer) {
    std::vector<Candidate> own;
    for (; !m_known.empty() && m_known.front().isEstimate && m_known.front().layer == layer; m_known.pop_front()) {
        const StepPrice& known = m_known.front();
        if (std::ranges::find(m_candidates.rules().kinds, static_cast<StepKind>(known.kind)) ==
            m_candidates.rules().kinds.end()) {
            m_known.clear(); // the file was changed
            return {};
        }
        own.push_back({.layer = layer,
                       .kind = static_cast<StepKind>(known.kind),
                       .rise = std::llround(known.rise * lossSteps),
                       .saved = known.saved});
    }
    return own;
}

/// The next price of an interrupted search. What does not fit this one is forgotten.
std::optional<StepPrice> SearchGrowth::knownPrice(const Candidate& candidate) {
    if (m_isBranch || m_known.empty())
        return std::nullopt;
    const StepPrice next = m_known.front();
    if (next.isEstimate || next.layer != candidate.layer || next.kind != static_cast<int>(candidate.kind)) {
        m_known.clear();
        return std::nullopt;
    }
    m_known.pop_front();
    return next;
}

StepPrice SearchGrowth::priceOf(const Candidate& candidate) const {
    return {.of = m_of,
            .layer = candidate.layer,
            .kind = static_cast<int>(candidate.kind),
            .isEstimate = candidate.measuredAt < 0,
            .saved = candidate.saved,
            .rise = static_cast<double>(candidate.rise) / lossSteps,
            .loss = candidate.loss};
}

void SearchGrowth::record(std::span<const StepPrice> prices) const {
    if (m_watch.priced && !m_isBranch)
        m_watch.priced(prices);
}

/// Measures the first candidate of the queue under the present mask. Removes it and returns false if it is gone.
bool SearchGrowth::renewFirst(const Progress& progress) {
    Candidate candidate{.layer = m_queue.front().layer, .kind = m_queue.front().kind};
    if (const auto known = knownPrice(candidate)) {
        candidate.saved = known->saved;
        candidate.rise = std::llround(known->rise * lossSteps);
        candidate.loss = known->loss;
        candidate.measuredAt = known->isGone ? -1 : std::ssize(m_steps);
    } else {
        StepPrice price{.of = m_of, .layer = candidate.layer, .kind = static_cast<int>(candidate.kind), .isGone = true};
        if (prepare(candidate, progress)) {
            measure(candidate, progress);
            price = priceOf(candidate);
        }
        record(std::span(&price, 1));
    }
    if (!isCurrent(candidate)) {
        m_queue.erase(m_queue.begin());
        return false;
    }
    m_queue.front() = std::move(candidate);
    ++m_measured;
    return true;
}

bool SearchGrowth::grow(double target, const Progress& progress) {
    if (!m_hasBegun)
        begin(stepReport(target, progress));
    return makeStep(stepReport(target, progress));
}

/// Makes the cheapest step of the queue. Returns false if nothing is left to cut.
bool SearchGrowth::makeStep(const Progress& progress) {
    std::int64_t measured = 0;
    while (!m_queue.empty()) {
        std::ranges::iter_swap(m_queue.begin(), cheapest());
        if (!isCurrent(m_queue.front())) {
            if (!renewFirst(progress))
                continue;
            ++measured;
            if (!isCheapEnough(m_queue.front()))
                continue;
        }
        Candidate& first = m_queue.front();
        if (first.mask || prepare(first, progress)) {
            m_skipped += std::ssize(m_queue) - measured;
            take(first);
            return true;
        }
        m_queue.erase(m_queue.begin());
    }
    return false;
}

/// Whether the first candidate costs no more than the cheapest of the others, or so little more that the held-out text
/// cannot tell. Without the second, many prices that are almost equal would be measured again at each step.
bool SearchGrowth::isCheapEnough(const Candidate& first) {
    const auto next = cheapest(1);
    if (next == m_queue.end() || priorityOf(first) < priorityOf(*next))
        return true;
    // In 1e-6 nats: the noise of a difference of two losses, or divergences, on some thousand tokens.
    const double untold = 500 - 400 * m_candidates.rules().divergence;
    constexpr double relative = 0.1;
    const double ofNext = std::max(0.0, static_cast<double>(next->rise)) / usefulSaving(*next) * usefulSaving(first);
    const auto rise = static_cast<double>(first.rise);
    return rise - ofNext <= untold + relative * std::abs(rise);
}

/// Makes a step. The next step of its kind in the layer waits with the same price until it is measured.
void SearchGrowth::take(const Candidate& candidate) {
    SearchStep step{.mask = *candidate.mask,
                    .loss = candidate.loss,
                    .rise = candidate.loss - m_loss,
                    .saved = candidate.saved,
                    .layer = candidate.layer,
                    .kind = candidate.kind,
                    .cuts = cutsOf(*candidate.mask, candidate),
                    .waiting = {}};
    setMask(step.mask);
    m_loss = step.loss;
    for (Candidate& waiting : m_queue)
        waiting.mask.reset();
    step.waiting = m_queue;
    m_steps.push_back(std::move(step));
}

/// Goes on under another mask.
void SearchGrowth::setMask(const PruningMask& mask) {
    auto plan = m_model.runner().plan(mask, m_plan->type());
    m_walk.setPlan(*plan);
    m_fits.setPlan(*plan);
    m_plan = std::move(plan);
    m_saved = m_savings.percentage(mask, m_of);
    m_mask = mask;
}

/// The units that a step cuts.
std::vector<OrderedCut> SearchGrowth::cutsOf(const PruningMask& after, const Candidate& candidate) const {
    const ModelSpec& spec = m_model.spec();
    const CutUnit unit = candidate.kind == StepKind::groups ? CutUnit::head : unitOf(candidate.kind);
    std::vector<OrderedCut> cuts;
    for (int layer = 0; layer < spec.layerCount(); ++layer) {
        if (candidate.layer != SearchSteps::allLayers && candidate.layer != layer)
            continue;
        for (int index = 0; index < unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit); ++index)
            if (candidate.kind == StepKind::bypass ||
                (isCut(after, spec, unit, layer, index) && !isCut(m_mask, spec, unit, layer, index)))
                cuts.push_back({unit, layer, index, candidate.loss});
    }
    return cuts;
}

std::vector<OrderedCut> orderOf(const SearchSequence& steps) {
    std::vector<OrderedCut> order;
    for (const SearchStep& step : steps)
        order.insert(order.end(), step.cuts.begin(), step.cuts.end());
    return order;
}

std::string SearchGrowth::measure() const {
    if (givesPooledOutput(m_model))
        return "pooled_half_square";
    const bool compares = m_candidates.rules().divergence > 0 && m_model.spec().family != Family::encoder;
    return compares ? "kl_and_loss_nats" : "loss_nats";
}

PruneHistory SearchGrowth::historyOf(const SearchSequence& steps) const {
    PruneHistory history{.measure = measure(), .before = m_before, .cuts = {}, .steps = static_cast<int>(steps.size())};
    for (std::size_t i = 0; i < steps.size(); ++i)
        for (const OrderedCut& cut : steps[i].cuts)
            history.cuts.push_back(
                {static_cast<int>(i + 1), {cut.layer, cut.index}, steps[i].rise, steps[i].loss, cut.unit});
    return history;
}

} // namespace secateur
