#include "analysis/strategies/search_queue.h"

#include "analysis/base/text.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/strategies/loss_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

constexpr double perNat = 1e6;

/// The units that a kind of step cuts, one by one.
CutUnit unitOf(StepKind kind) {
    constexpr std::array units{CutUnit::head, CutUnit::neuron, CutUnit::attention,
                               CutUnit::mlp,  CutUnit::block,  CutUnit::attention};
    return units[static_cast<std::size_t>(kind)];
}

/// The mean losses under candidates of one layer.
std::vector<double> lossesUnder(VariantWalk& walk, std::span<const PruningMask* const> masks, int layer,
                                const Progress& progress) {
    std::vector<LayerVariant> variants;
    for (std::size_t i = 0; i < masks.size(); ++i)
        variants.push_back({masks[i]->layer(layer), i}); // one by one, so that rounding does not depend on the others
    walk.goTo(layer, progress);
    std::vector<double> losses;
    for (const VariantWalk::Losses& found :
         walk.under(variants, fmt::format("candidates of layer {}", layer), progress))
        losses.push_back(std::round(meanLoss(found) * perNat) / perNat);
    return losses;
}

} // namespace

CalibrationText beginningOf(const CalibrationText& text) {
    std::int64_t all = 0;
    for (const TokenSequence& sequence : text.sequences)
        all += std::ssize(sequence.ids);
    constexpr std::int64_t share = 4;
    std::size_t count = 0;
    for (std::int64_t tokens = 0; count < text.sequences.size() && share * tokens < all; ++count)
        tokens += std::ssize(text.sequences[count].ids);
    CalibrationText beginning = text;
    beginning.sequences = text.sequences.first(count);
    if (!text.labels.empty())
        beginning.labels = text.labels.first(count);
    return beginning;
}

SearchGrowth::SearchGrowth(const Model& model, const PruningMask& base, const Savings& savings, SearchTexts texts,
                           StepRules rules, BudgetOf of)
    : m_model(model)
    , m_base(base)
    , m_savings(savings)
    , m_of(of)
    , m_plan(model.runner().plan(base, texts.heldOut.type))
    , m_fits(model, *m_plan, texts.fitted.sequences, texts.fitted.batchTokens, texts.fitted.streamBytes)
    , m_candidates(model, m_fits, std::move(rules))
    , m_walk(model, *m_plan, variantText(texts.heldOut))
    , m_beginning(beginningOf(texts.heldOut)) {
    m_walk.keepInputs(0, model.spec().layerCount() - 1, texts.heldOut.streamBytes / 4);
}

/// Rises of 0 or less go first, the larger saving first; then the lowest rise for what is saved. Ties go to the lower
/// layer, then to the first kind.
bool SearchGrowth::isCheaper(const Candidate& one, const Candidate& other) {
    const auto key = [](const Candidate& candidate) {
        const bool isFree = candidate.rise <= 0;
        const double price = isFree ? -candidate.saved : static_cast<double>(candidate.rise) / candidate.saved;
        return std::tuple(!isFree, price, candidate.layer, candidate.kind);
    };
    return key(one) < key(other);
}

Progress SearchGrowth::stepReport(double target, const Progress& progress) const {
    const double saved = m_savings.percentage(mask(), m_of);
    const double share = target > 0 ? std::clamp(saved / target, 0.0, 1.0) : 1;
    std::string state = fmt::format("{:.1f} of {}% saved", saved, exactly(target));
    if (m_hasBegun)
        state += fmt::format(", {} steps, loss {} -> {}", m_steps.size(), significant(m_before, 5),
                             significant(lossNow(), 5));
    return Progress(
        [own = progress.part(share, share), state = std::move(state)](double fraction, std::string_view text) {
            own.report(fraction, fmt::format("{}, {}", state, text));
        });
}

/// Builds a candidate under the present mask. Returns false if there is nothing to cut or to save.
bool SearchGrowth::prepare(Candidate& candidate, const Progress& progress) {
    progress.report(
        0, fmt::format("{} of layer {}", stepKindNames[static_cast<std::size_t>(candidate.kind)], candidate.layer));
    auto next = m_candidates.next(mask(), candidate.layer, candidate.kind, progress);
    if (!next)
        return false;
    candidate.mask = std::move(*next);
    candidate.saved = m_savings.percentage(candidate.mask, m_of) - m_savings.percentage(mask(), m_of);
    return candidate.saved > 0;
}

/// Measures a candidate on the whole held-out text.
void SearchGrowth::measure(Candidate& candidate, const Progress& progress) {
    const std::array masks{&std::as_const(candidate.mask)};
    candidate.loss = lossesUnder(m_walk, masks, candidate.layer, progress).front();
    candidate.rise = std::llround((candidate.loss - lossNow()) * perNat);
    candidate.measuredAt = std::ssize(m_steps);
    ++m_measured;
}

/// Estimates the prices of all first steps, layer by layer, on the beginning of the held-out text.
void SearchGrowth::begin(const Progress& progress) {
    m_queue.clear();
    m_before = std::round(meanLoss(m_walk.whole(progress)) * perNat) / perNat;
    VariantWalk walk(m_model, *m_plan, variantText(m_beginning));
    const double before = meanLoss(walk.whole(progress));
    for (int layer = 0; layer < m_model.spec().layerCount(); ++layer) {
        std::vector<Candidate> own;
        std::vector<const PruningMask*> masks;
        for (const StepKind kind : m_candidates.rules().kinds) {
            Candidate candidate{.layer = layer, .kind = kind, .mask = {}};
            if (prepare(candidate, progress))
                own.push_back(std::move(candidate));
        }
        for (const Candidate& candidate : own)
            masks.push_back(&candidate.mask);
        if (own.empty())
            continue;
        const std::vector<double> losses = lossesUnder(walk, masks, layer, progress);
        for (std::size_t i = 0; i < own.size(); ++i) {
            own[i].rise = std::llround((losses[i] - before) * perNat);
            own[i].mask = {};
        }
        std::ranges::move(own, std::back_inserter(m_queue));
    }
    m_hasBegun = true;
}

bool SearchGrowth::grow(double target, const Progress& progress) {
    const Progress report = stepReport(target, progress);
    if (!m_hasBegun)
        begin(report);
    std::int64_t measured = 0;
    while (!m_queue.empty()) {
        const auto first = std::ranges::min_element(m_queue, isCheaper);
        if (isCurrent(*first)) {
            m_skipped += std::ssize(m_queue) - measured;
            take(*first);
            return true;
        }
        Candidate candidate{.layer = first->layer, .kind = first->kind, .mask = {}};
        if (!prepare(candidate, report)) {
            m_queue.erase(first);
            continue;
        }
        measure(candidate, report);
        ++measured;
        *first = std::move(candidate);
    }
    return false;
}

/// Makes a step. The next step of its kind in the layer waits with the same price until it is measured.
void SearchGrowth::take(const Candidate& candidate) {
    Step step{candidate.mask, candidate.loss, cutsOf(candidate.mask, candidate.layer, candidate.kind, candidate.loss)};
    auto plan = m_model.runner().plan(step.mask, m_plan->type());
    m_walk.setPlan(*plan);
    m_fits.setPlan(*plan);
    m_plan = std::move(plan);
    m_steps.push_back(std::move(step));
    for (Candidate& waiting : m_queue)
        waiting.mask = {};
}

/// The units that a step cuts.
std::vector<OrderedCut> SearchGrowth::cutsOf(const PruningMask& after, int layer, StepKind kind, double loss) const {
    const ModelSpec& spec = m_model.spec();
    const CutUnit unit = unitOf(kind);
    std::vector<OrderedCut> cuts;
    for (int index = 0; index < unitsIn(spec.layers[static_cast<std::size_t>(layer)], unit); ++index)
        if (kind == StepKind::bypass ||
            (isCut(after, spec, unit, layer, index) && !isCut(mask(), spec, unit, layer, index)))
            cuts.push_back({unit, layer, index, loss});
    return cuts;
}

std::vector<OrderedCut> SearchGrowth::orderAfter(std::size_t steps) const {
    std::vector<OrderedCut> order;
    for (std::size_t i = 0; i < steps; ++i)
        order.insert(order.end(), m_steps[i].cuts.begin(), m_steps[i].cuts.end());
    return order;
}

PruneHistory SearchGrowth::historyAfter(std::size_t steps) const {
    PruneHistory history{.measure = "loss_nats", .before = m_before, .cuts = {}, .steps = static_cast<int>(steps)};
    double before = m_before;
    for (std::size_t i = 0; i < steps; ++i) {
        const Step& step = m_steps[i];
        for (const OrderedCut& cut : step.cuts)
            history.cuts.push_back(
                {static_cast<int>(i + 1), {cut.layer, cut.index}, step.loss - before, step.loss, cut.unit});
        before = step.loss;
    }
    return history;
}

} // namespace secateur
