#include "analysis/figures/curve_maps.h"

#include "analysis/base/error.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/figures/curve_figures.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/strategy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace secateur {

namespace {

/// A mask that was chosen on one of several calibration texts.
struct MaskOfText {
    const MaskRecord* record = nullptr;
    std::string calibrationDigest;
    bool hasOrder = false; ///< whether the provenance is that of this text; equal masks of other texts share a record
    double removed = 0; ///< share of the parameters, in per cent
};

/// The masks of one budget on different calibration texts.
struct TextsOfBudget {
    Budget budget;
    std::vector<MaskOfText> masks;

    double removed() const {
        double sum = 0;
        for (const MaskOfText& mask : masks)
            sum += mask.removed;
        return sum / static_cast<double>(std::max<std::size_t>(masks.size(), 1));
    }
};

struct LineOfTexts {
    std::string label;
    std::size_t curve = 0;  ///< index in the curves by which strategies are named and coloured
    std::string metric;     ///< result id of the metric that the strategy ranks by; empty = none
    std::vector<TextsOfBudget> budgets;
};

/// The sets of curves that differ from one in the calibration text at most, one for each text. If there are any of
/// disjoint parts of a text, only these, of the latest division.
std::vector<const Curves*> likeSets(const Session& session, const Curves& curves) {
    std::vector<const Curves*> sets{&curves};
    for (const Curves& other : session.curves) {
        CurveConditions conditions = other.conditions;
        conditions.calibrationDigest = curves.conditions.calibrationDigest;
        const bool isNew = std::ranges::none_of(sets, [&](const Curves* set) {
            return set->conditions.calibrationDigest == other.conditions.calibrationDigest;
        });
        if (isNew && conditions.choosesLike(curves.conditions))
            sets.push_back(&other);
    }
    const auto parts = [](const Curves* set) { return set->conditions.calibration.parts; };
    const auto divided = std::ranges::find_if(sets.rbegin(), sets.rend(), parts);
    if (divided != sets.rend())
        std::erase_if(sets, [&, count = parts(*divided)](const Curves* set) { return parts(set) != count; });
    if (sets.size() < 2)
        throw Error("holds curves of one calibration text only", session.model.name,
                    "Sweep with --stability N, or with another --text into the same session");
    return sets;
}

void addMask(LineOfTexts& line, const CurvePoint& point, MaskOfText mask) {
    auto same = std::ranges::find(line.budgets, point.key.budget, &TextsOfBudget::budget);
    if (same == line.budgets.end())
        same = line.budgets.insert(same, {point.key.budget, {}});
    same->masks.push_back(std::move(mask));
}

/// The mask of a point: the one that was chosen on this text, if equal masks of several texts were kept.
MaskOfText maskOf(const Session& session, const CurvePoint& point, const std::string& calibrationDigest) {
    MaskOfText found{nullptr, calibrationDigest, false, 0};
    for (const SessionMask& mask : session.masks) {
        if (mask.digest != point.mask || found.hasOrder)
            continue;
        found.record = &mask.record;
        found.hasOrder = mask.record.provenance && mask.record.provenance->textDigest == calibrationDigest;
    }
    return found;
}

/// The lines of a strategy, with its masks on all texts.
std::vector<LineOfTexts> linesOf(const Session& session, const Curves& curves, const std::vector<const Curves*>& sets,
                                 std::size_t index, double parameters) {
    const std::string& strategy = curves.curves[index].strategy;
    const std::optional<StrategyRequest> request = knownStrategy(strategy);
    std::map<std::string, LineOfTexts> lines;
    for (const Curves* set : request && isCalibrated(*request) ? sets : std::vector<const Curves*>()) {
        const Curve* curve = set->curve(strategy);
        for (std::size_t i = 0; curve && i < curve->points.size(); ++i) {
            const CurvePoint& point = curve->points[i];
            MaskOfText mask = maskOf(session, point, set->conditions.calibrationDigest);
            if (!mask.record || point.key.repetition > 0)
                continue;
            mask.removed = 100 * (1 - static_cast<double>(point.parameters) / parameters);
            const std::string label = curveLabel(*curve, point.key);
            LineOfTexts& line = lines[label];
            line.label = label;
            line.curve = index;
            line.metric = request->metric ? request->metric->resultId() : std::string();
            addMask(line, point, std::move(mask));
        }
    }
    std::vector<LineOfTexts> found;
    for (auto& [label, line] : lines) {
        std::erase_if(line.budgets, [](const TextsOfBudget& budget) { return budget.masks.size() < 2; });
        std::ranges::stable_sort(line.budgets, {}, &TextsOfBudget::removed);
        if (!line.budgets.empty())
            found.push_back(std::move(line));
    }
    return found;
}

/// The place of each cut unit in the order of the cuts.
std::map<std::tuple<CutUnit, int, int>, double> cutPlaces(const MaskRecord& record) {
    std::map<std::tuple<CutUnit, int, int>, double> places;
    if (!record.provenance)
        return places;
    for (const OrderedCut& cut : record.provenance->order)
        places.emplace(std::tuple(cut.unit, cut.layer, cut.index), static_cast<double>(places.size()));
    if (places.empty() && record.provenance->history)
        for (const HistoricCut& cut : record.provenance->history->cuts)
            places.emplace(std::tuple(CutUnit::head, cut.head.layer, cut.head.head), cut.step);
    return places;
}

/// The latest values of a metric on a text; null if the session has none.
const MetricResult* resultOn(const Session& session, const std::string& id, const std::string& dataDigest) {
    const MetricResult* found = nullptr;
    for (const MetricResult& result : session.results)
        if (result.measurement.dataDigest == dataDigest && result.request.resultId() == id)
            found = &result;
    return found;
}

double scoreCorrelation(const Session& session, const std::string& metric, const MaskOfText& a, const MaskOfText& b) {
    if (!metric.empty()) {
        const MetricResult* first = resultOn(session, metric, a.calibrationDigest);
        const MetricResult* second = resultOn(session, metric, b.calibrationDigest);
        if (first && second)
            return rankCorrelation(first->values.values(), second->values.values()).spearman;
    }
    if (!a.hasOrder || !b.hasOrder)
        return notMeasured;
    const auto placesOfB = cutPlaces(*b.record);
    std::vector<double> x;
    std::vector<double> y;
    for (const auto& [unit, place] : cutPlaces(*a.record))
        if (const auto other = placesOfB.find(unit); other != placesOfB.end()) {
            x.push_back(place);
            y.push_back(other->second);
        }
    return rankCorrelation(x, y).spearman;
}

/// Adds the mean over all pairs of texts, and their range.
void addPairs(FigureSeries& series, const TextsOfBudget& budget, const std::vector<double>& pairs) {
    const auto [low, high] = finiteRange(pairs);
    const bool isBand = pairs.size() > 1;
    series.positions.push_back(budget.removed());
    series.values.push_back(finiteMean(pairs));
    series.lows.push_back(isBand ? low : notMeasured);
    series.highs.push_back(isBand ? high : notMeasured);
    series.names.push_back(fmt::format("{}, {} texts", budgetText(budget.budget), budget.masks.size()));
}

template <typename Compare> FigureSeries seriesOfPairs(const LineOfTexts& line, Compare compare) {
    FigureSeries series;
    series.label = line.label;
    series.colour = line.curve;
    for (const TextsOfBudget& budget : line.budgets) {
        std::vector<double> pairs;
        for (std::size_t i = 0; i < budget.masks.size(); ++i)
            for (std::size_t j = i + 1; j < budget.masks.size(); ++j)
                pairs.push_back(compare(budget.masks[i], budget.masks[j]));
        addPairs(series, budget, pairs);
    }
    return series;
}

std::vector<LineOfTexts> allLines(const Session& session, const Curves& curves,
                                  const std::vector<const Curves*>& sets, const CurveMapLook& look) {
    const PruningMask dense(session.model.spec);
    const auto parameters = static_cast<double>(PriceList(session.model).price(dense).parameters.all);
    std::vector<LineOfTexts> lines;
    for (const std::size_t index : namedCurves(curves, look.strategies))
        for (LineOfTexts& line : linesOf(session, curves, sets, index, parameters))
            lines.push_back(std::move(line));
    if (lines.empty())
        throw Error("holds no masks of a strategy that reads a text, on several texts", session.model.name,
                    "Sweep such a strategy with --stability N, or with another --text into the same session");
    return lines;
}

CutKind kindOfLines(const Session& session, const std::vector<LineOfTexts>& lines, const CurveMapLook& look) {
    std::vector<const PruningMask*> masks;
    for (const LineOfTexts& line : lines)
        for (const TextsOfBudget& budget : line.budgets)
            for (const MaskOfText& mask : budget.masks)
                masks.push_back(&mask.record->mask);
    return look.kind ? *look.kind : commonKind(session.model.spec, masks);
}

} // namespace

Figure stabilityFigure(const Session& session, const Curves& curves, StabilityOf what, const CurveMapLook& look) {
    const std::vector<const Curves*> sets = likeSets(session, curves);
    const std::vector<LineOfTexts> lines = allLines(session, curves, sets, look);
    const CutKind kind = kindOfLines(session, lines, look);
    const CutCounter counter(session.model);
    const bool isOfMasks = what == StabilityOf::masks;
    Figure figure;
    figure.kind = FigureKind::curves;
    figure.title = session.model.name;
    figure.x.label = "parameters removed (%)";
    figure.y.label = isOfMasks ? fmt::format("Jaccard index of removed {}", cutKindLabel(kind))
                               : "rank correlation of scores (Spearman)";
    double most = 0;
    for (const LineOfTexts& line : lines) {
        figure.series.push_back(seriesOfPairs(line, [&](const MaskOfText& a, const MaskOfText& b) {
            return isOfMasks ? counter.overlap(a.record->mask, b.record->mask, kind).jaccard()
                             : scoreCorrelation(session, line.metric, a, b);
        }));
        for (const double position : figure.series.back().positions)
            most = std::max(most, position);
        if (!std::isfinite(finiteMean(figure.series.back().values)))
            figure.series.pop_back();
    }
    if (figure.series.empty())
        throw Error("holds no scores that could be compared: the masks record no order of cuts, or have no cuts in "
                    "common", session.model.name);
    figure.x.range = AxisRange{0, std::max(1.04 * most, 1e-3)};
    if (isOfMasks)
        figure.y.range = AxisRange{0, 1.03};
    figure.caption = figureCaption(session.model, figure.y.label + " between calibration texts");
    figure.caption += fmt::format(" {} texts; lines: means over pairs of texts; bands: minimum to maximum.", sets.size());
    return figure;
}

} // namespace secateur
