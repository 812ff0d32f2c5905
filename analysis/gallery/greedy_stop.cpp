#include "analysis/gallery/greedy_stop.h"

#include "analysis/base/error.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/gallery/option_values.h"
#include "analysis/gallery/paper_parts.h"
#include "analysis/gallery/published.h"
#include "analysis/masks/mask_algebra.h"
#include "analysis/strategies/greedy_gnorm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace secateur {

namespace {

constexpr std::array greedyLine{PaperLine{"gnorm_greedy", "Greedy-Gnorm", 2}};
constexpr PaperStep greedySweep{"greedy_gnorm", "sweep"};

/// Heads that the paper cuts, by the paper's name of the model. It does not state the rule.
struct PaperCut {
    std::string_view model;
    int heads; ///< of ALBERT, shared ones
};
constexpr std::array paperCuts{PaperCut{"BERT", 117}, PaperCut{"ALBERT", 3}, PaperCut{"RoBERTa", 245},
                               PaperCut{"XLM-RoBERTa", 105}};

/// The number of heads that the option `stop` names; empty if it names a rule.
std::optional<int> numberOfHeads(const std::string& text) {
    const std::optional<int> heads = wholeNumberIn(text);
    return heads && *heads > 0 ? heads : std::nullopt;
}

bool isGreedy(const SessionMask& mask) {
    return mask.record.provenance && mask.record.provenance->strategy == greedyLine.front().strategy;
}

/// The mask of gnorm_greedy with the most cuts; null if there is none.
const SessionMask* longestGreedyMask(const Session& session) {
    const SessionMask* longest = nullptr;
    for (const SessionMask& mask : session.masks)
        if (isGreedy(mask) && (!longest || cutHeadsOf(session.model.spec, mask.record.mask) >
                                               cutHeadsOf(session.model.spec, longest->record.mask)))
            longest = &mask;
    return longest;
}

/// The heads that a mask of gnorm_greedy cuts, in the order of their cuts.
std::vector<HeadId> orderOf(const MaskProvenance& provenance) {
    std::vector<HeadId> order;
    if (provenance.history)
        for (const HistoricCut& cut : provenance.history->cuts)
            if (cut.unit == CutUnit::head)
                order.push_back(cut.head);
    if (order.empty())
        for (const OrderedCut& cut : provenance.order)
            if (cut.unit == CutUnit::head)
                order.push_back({cut.layer, cut.index});
    return order;
}

PruningMask withFirst(const ModelSpec& spec, const std::vector<HeadId>& order, std::size_t count) {
    PruningMask mask(spec);
    setHeads(mask, std::span(order).first(std::min(count, order.size())), false);
    return mask;
}

/// The points of the curve that have a quality and a mask, by the number of heads.
std::vector<const CurvePoint*> scoredPoints(const Session& session, const Curve& curve, const PaperQuality& quality) {
    std::vector<const CurvePoint*> points;
    for (const auto& group : budgetsOfPaper(curve))
        if (std::isfinite(quality.of(*group.front()).value) && session.mask(group.front()->mask))
            points.push_back(group.front());
    std::ranges::stable_sort(points, {}, [](const CurvePoint* point) { return point->removed.heads; });
    return points;
}

class GreedyFinder {
public:
    GreedyFinder(const Session& session, const FigureOptions& options)
        : m_session(session)
        , m_spec(session.model.spec) {
        m_found.heads = allHeadsOf(m_spec);
        m_found.mask = PruningMask(m_spec);
        const bool hasCurve = std::ranges::any_of(
            session.curves, [](const Curves& curves) { return curveOfPaper(curves, greedyLine.front().strategy); });
        if (!hasCurve)
            return;
        m_found.curves = &curvesOfPaper(session, greedyLine, options, greedySweep);
        m_curve = curveOfPaper(*m_found.curves, greedyLine.front().strategy);
        if (m_curve)
            m_quality = qualityOfPaper(session.model, *m_found.curves, options.at("task"));
    }

    GreedyStopped atNumber(int heads, bool isOfPaper) {
        m_found.rule = isOfPaper ? "as many as in the paper" : "as requested";
        if (m_curve)
            for (const auto& group : budgetsOfPaper(*m_curve)) {
                const SessionMask* mask = m_session.mask(group.front()->mask);
                if (mask && cutHeadsOf(m_spec, mask->record.mask) == heads)
                    return atPoint(*group.front());
            }
        const SessionMask* longest = longestGreedyMask(m_session);
        const std::vector<HeadId> order = longest ? orderOf(*longest->record.provenance) : std::vector<HeadId>();
        if (order.size() < static_cast<std::size_t>(heads))
            throw lacking(m_session, fmt::format("mask of gnorm_greedy with {} cut heads", heads), greedySweep.paper,
                          greedySweep.step);
        m_found.mask = withFirst(m_spec, order, static_cast<std::size_t>(heads));
        m_found.cut = heads;
        return std::move(m_found);
    }

    GreedyStopped atKnee() {
        const auto points = m_curve ? scoredPoints(m_session, *m_curve, m_quality) : std::vector<const CurvePoint*>();
        if (points.size() < 2)
            return atKneeOfSteps();
        std::vector<double> cuts;
        std::vector<double> worse;
        for (const CurvePoint* point : points) {
            cuts.push_back(point->removed.heads);
            worse.push_back(m_quality.worse(m_quality.of(*point).value));
        }
        m_found.rule = "knee of " + m_quality.label();
        const std::size_t knee = kneeOf(cuts, worse);
        return knee == 0 ? std::move(m_found) : atPoint(*points[knee - 1]);
    }

private:
    GreedyStopped atPoint(const CurvePoint& point) {
        m_found.point = &point;
        m_found.mask = m_session.mask(point.mask)->record.mask;
        m_found.cut = cutHeadsOf(m_spec, m_found.mask);
        return std::move(m_found);
    }

    /// The knee of the quality after each step, on the calibration text.
    GreedyStopped atKneeOfSteps() {
        const SessionMask* longest = longestGreedyMask(m_session);
        if (!longest || !longest->record.provenance->history || longest->record.provenance->history->cuts.empty())
            throw lacking(m_session, "curves with gnorm_greedy", greedySweep.paper, greedySweep.step);
        const PruneHistory& history = *longest->record.provenance->history;
        const bool isLowBetter = history.measure == "loss_nats" || history.measure == "pooled_distance";
        std::vector<double> cuts;
        std::vector<double> worse;
        for (std::size_t i = 0; i < history.cuts.size(); ++i) {
            const HistoricCut& cut = history.cuts[i];
            if (i + 1 < history.cuts.size() && history.cuts[i + 1].step == cut.step)
                continue; // the value is that after the whole step
            cuts.push_back(static_cast<double>(i + 1));
            worse.push_back(isLowBetter ? cut.value - history.before : history.before - cut.value);
        }
        const std::size_t knee = kneeOf(cuts, worse);
        m_found.rule = fmt::format("knee of {} on the calibration text", history.measure);
        m_found.cut = knee == 0 ? 0 : static_cast<int>(cuts[knee - 1]);
        m_found.mask = withFirst(m_spec, orderOf(*longest->record.provenance), static_cast<std::size_t>(m_found.cut));
        return std::move(m_found);
    }

    const Session& m_session;
    const ModelSpec& m_spec;
    const Curve* m_curve = nullptr;
    PaperQuality m_quality;
    GreedyStopped m_found;
};

} // namespace

void checkGreedyStop(const FigureOptions& options) {
    const std::string& stop = options.at("stop");
    if (stop != "auto" && stop != "knee" && !numberOfHeads(stop))
        throw UsageError("should be a number of heads, knee or auto", "stop=" + stop);
}

std::optional<int> greedyPaperCut(const ModelCard& model) {
    for (const PublishedValue& value : publishedFor("greedy_gnorm_table1", model, "auto"))
        for (const PaperCut& cut : paperCuts)
            if (value.model == cut.model)
                return cut.heads;
    return std::nullopt;
}

int cutHeadsOf(const ModelSpec& spec, const PruningMask& mask) {
    int cut = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        if (mask.tiedTo(layer).front() == layer)
            cut += unitsIn(spec.layers[static_cast<std::size_t>(layer)], CutUnit::head) - mask.layer(layer).keptHeads();
    return cut;
}

int allHeadsOf(const ModelSpec& spec) {
    const PruningMask dense(spec);
    int heads = 0;
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        if (dense.tiedTo(layer).front() == layer)
            heads += unitsIn(spec.layers[static_cast<std::size_t>(layer)], CutUnit::head);
    return heads;
}

GreedyStopped greedyStopped(const Session& session, const FigureOptions& options) {
    const bool isAutomatic = options.at("stop") == "auto";
    const std::optional<int> heads = isAutomatic ? greedyPaperCut(session.model) : numberOfHeads(options.at("stop"));
    GreedyFinder finder(session, options);
    return heads ? finder.atNumber(*heads, isAutomatic) : finder.atKnee();
}

} // namespace secateur
