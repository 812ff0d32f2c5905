#include "analysis/campaigns/sweep_state.h"

#include "analysis/base/bytes.h"
#include "analysis/campaigns/sweep_wire.h"
#include "analysis/model/far_model.h"

#include <algorithm>
#include <string>
#include <utility>

namespace secateur {

SweepState::SweepState(const Model& openModel, const SweepRequest& wanted, const SweepInputs& texts,
                       const SweepKnown& earlier, const SweepPlan& planned, const SweepSink& receiver)
    : model(openModel)
    , request(wanted)
    , inputs(texts)
    , known(earlier)
    , plan(planned)
    , m_sink(receiver)
    , m_curves(planned.known) {
    for (const SweepSeries& series : request.series)
        m_strategies.push_back(series.strategy.resultId());
    remember("dense", PruningMask(model.spec()));
}

CurvePoint SweepState::pointOf(const PlannedPoint& point) const {
    const Curve* curve = m_curves.curve(strategyOf(point));
    const CurvePoint* found = curve ? curve->point(point.key) : nullptr;
    return found ? *found : CurvePoint{.key = point.key};
}

const PruningMask* SweepState::maskOf(const std::string& digest) const {
    if (const auto own = m_masks.find(digest); own != m_masks.end())
        return &own->second;
    return known.mask ? known.mask(digest) : nullptr;
}

bool SweepState::remember(const std::string& digest, const PruningMask& mask) {
    if (maskOf(digest))
        return false;
    m_masks.emplace(digest, mask);
    return true;
}

void SweepState::addWarnings(const std::vector<std::string>& warnings) {
    for (const std::string& warning : warnings)
        if (std::ranges::find(m_curves.warnings, warning) == m_curves.warnings.end())
            m_curves.warnings.push_back(warning);
}

Curves SweepState::withoutPoints() const {
    return {.conditions = m_curves.conditions,
            .tasks = m_curves.tasks,
            .latency = m_curves.latency,
            .dense = m_curves.dense,
            .warnings = m_curves.warnings};
}

void SweepState::store(const std::vector<NamedPoint>& points, SweepNews news) {
    Curves found = withoutPoints();
    for (const auto& [strategy, point] : points) {
        Curves one{.conditions = found.conditions, .dense = found.dense};
        one.curves.push_back({strategy, {point}});
        join(found, one);
    }
    join(m_curves, found);
    news.curves = std::move(found);
    tell(std::move(news));
}

void SweepState::tell(SweepNews news) {
    if (m_itemNews)
        m_itemNews->push_back(std::move(news));
    else if (m_sink)
        m_sink(news);
}

void SweepState::share(std::size_t count, const std::function<void(std::size_t item, const Progress& progress)>& work,
                       const Progress& progress) {
    const SweepRanks& ranks = inputs.ranks;
    const auto workOnItem = [&](std::size_t item, const Progress& own) {
        m_itemNews.emplace();
        work(item, own);
        const std::vector<SweepNews> all = std::move(*m_itemNews);
        m_itemNews.reset();
        std::vector<std::string> bytes;
        for (const SweepNews& news : all)
            bytes.push_back(ranks.pack(news));
        return packed(bytes);
    };
    const auto takeItem = [&](std::size_t, std::string_view bytes) {
        for (const std::string& news : unpacked<std::vector<std::string>>(bytes))
            take(ranks.unpack(news));
    };
    shareWithAll(*ranks.cluster, count, workOnItem, takeItem, progress);
}

/// Adds the news of an item, and passes them on. Ranks that do not know of each other may choose equal masks; the first
/// one counts.
void SweepState::take(SweepNews news) {
    std::erase_if(news.masks, [&](const ChosenMask& mask) { return !m_takenMasks.insert(mask.digest).second; });
    for (const ChosenMask& mask : news.masks)
        remember(mask.digest, mask.record.mask);
    if (news.curves)
        join(m_curves, *news.curves);
    tell(std::move(news));
}

Curves runSweep(const Model& model, const SweepRequest& request, const SweepInputs& inputs, const SweepKnown& known,
                const SweepPlan& plan, const SweepCost& cost, const SweepSink& sink, const Progress& progress) {
    if (const FarModel* far = farModel(model))
        return farSweep(*far, request, inputs, known, sink, progress);
    SweepState state(model, request, inputs, known, plan, sink);
    const double share = cost.seconds() > 0 ? cost.choosingSeconds / cost.seconds() : 0.5;
    const bool chooses = std::ranges::any_of(plan.left, [](const PlannedPoint& point) { return !point.isChosen; });
    const double choosing = chooses ? std::clamp(share, 0.01, 0.99) : 0;
    const double later = cost.scoringSeconds + cost.trainingSeconds;
    chooseMasks(state, progress.part(0, choosing));
    scoreMasks(state, later > 0 ? cost.trainingSeconds / later : 0.5, progress.part(choosing, 1));
    return state.curves();
}

} // namespace secateur
