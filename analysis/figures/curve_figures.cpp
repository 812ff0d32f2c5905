#include "analysis/figures/curve_figures.h"

#include "analysis/base/error.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/base/usage_error.h"
#include "analysis/figures/curve_points.h"
#include "analysis/figures/curve_quantities.h"
#include "analysis/strategies/budget.h"
#include "analysis/strategies/strategy.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

namespace secateur {

namespace {

std::optional<CutUnit> unitOfStrategy(const std::string& strategy) {
    const std::optional<StrategyRequest> request = knownStrategy(strategy);
    if (!request)
        return std::nullopt;
    if (request->info->unit)
        return request->info->unit;
    return request->metric ? request->metric->info->ranks : std::nullopt;
}

/// The unit that all of these curves cut; empty if they cut several kinds.
std::optional<CutUnit> sharedUnit(const Curves& curves, const std::vector<std::size_t>& chosen) {
    std::optional<CutUnit> shared;
    for (const std::size_t index : chosen) {
        const auto unit = unitOfStrategy(curves.curves[index].strategy);
        if (!unit || (shared && *shared != *unit))
            return std::nullopt;
        shared = unit;
    }
    return shared;
}

/// The first metric of a task that a point has.
std::string firstMetric(const Curves& curves, const std::string& task) {
    const auto metricAt = [&](const CurvePoint& point) {
        const auto found = std::ranges::find(point.tasks, task, &PointMetric::task);
        return found == point.tasks.end() ? std::string() : found->id;
    };
    if (std::string id = metricAt(curves.dense); !id.empty())
        return id;
    for (const Curve& curve : curves.curves)
        for (const CurvePoint& point : curve.points)
            if (std::string id = metricAt(point); !id.empty())
                return id;
    return {};
}

/// Sets the task and the metric. @param request NAME, NAME/METRIC or empty @throws UsageError for an unknown task
void chooseTask(CurveScale& scale, const Curves& curves, const std::string& request) {
    const std::size_t slash = request.rfind('/');
    const auto has = [&](const std::string& name) {
        return std::ranges::find(curves.tasks, name, &CurveTask::name) != curves.tasks.end();
    };
    const bool hasMetric = slash != std::string::npos && !has(request);
    scale.task = hasMetric ? request.substr(0, slash) : request;
    if (request.empty() && !curves.tasks.empty())
        scale.task = curves.tasks.front().name;
    if (!request.empty() && !has(scale.task)) {
        std::vector<std::string> known;
        for (const CurveTask& task : curves.tasks)
            known.push_back(task.name);
        throw UsageError(known.empty() ? "the curves have no tasks"
                                       : "the curves have no such task; they have " + join(known, ", "),
                         "task=" + request);
    }
    scale.metric = hasMetric ? request.substr(slash + 1) : firstMetric(curves, scale.task);
}

CurveScale scaleFor(const Session& session, const Curves& curves, const PriceList& prices, const CurveLook& look) {
    CurveScale scale;
    scale.dense = prices.price(PruningMask(session.model.spec));
    scale.isPerWord = curves.conditions.scored.rules.protocol == TextProtocol::wordPpl;
    scale.unit = sharedUnit(curves, namedCurves(curves, look.strategies));
    chooseTask(scale, curves, look.task);
    return scale;
}

/// A point of a figure, before it is placed in a series.
struct Spot {
    double order = 0; ///< share of removed parameters, by which lines connect points
    double x = notMeasured;
    double y = notMeasured;
    double error = 0;
    double low = notMeasured;
    double high = notMeasured;
    PointMark mark = PointMark::none;
    std::string name = {};
    std::size_t place = 0;
};

void append(FigureSeries& series, const Spot& spot) {
    series.positions.push_back(spot.x);
    series.values.push_back(spot.y);
    series.errors.push_back(spot.error);
    series.lows.push_back(spot.low);
    series.highs.push_back(spot.high);
    series.marks.push_back(spot.mark);
    series.names.push_back(spot.name);
    series.places.push_back(spot.place);
}

class CurvePlotter {
public:
    CurvePlotter(const Session& session, const Curves& curves, const CurveLook& look)
        : m_session(session)
        , m_curves(curves)
        , m_look(look)
        , m_prices(session.model, {.positions = curves.conditions.positions})
        , m_scale(scaleFor(session, curves, m_prices, look))
        , m_x(xQuantity(look.x))
        , m_y(look.y == "auto" ? firstMeasured(curves, m_scale, !look.task.empty()) : yQuantity(look.y)) {
        m_current.label = "current mask";
        m_current.style = SeriesStyle::points;
        m_current.isHollow = true;
    }

    CurveFigure plotted() {
        m_made.figure.kind = FigureKind::curves;
        m_made.figure.title = m_session.model.name;
        for (const std::size_t curve : namedCurves(m_curves, m_look.strategies))
            for (const std::vector<std::size_t>& line : curveLines(m_curves.curves[curve]))
                addLine(curve, line);
        addOthers();
        if (m_drawn.empty())
            throw Error(fmt::format("have no points with {} and {}", m_x.title, m_y.title), "Curves",
                        "secateur-cli plot SESSION --figure curves:x=X:y=Y draws other quantities");
        setAxes();
        addDense();
        addFront();
        setTexts();
        return std::move(m_made);
    }

private:
    FigureSeries& newSeries(std::string label, SeriesStyle style) {
        FigureSeries& series = m_made.figure.series.emplace_back();
        series.label = std::move(label);
        series.style = style;
        return series;
    }

    double order(const CurvePoint& point) const { return xQuantity("params").value(point, m_scale); }

    Spot spotOf(const CurvePoint& point) const {
        const CurveValue value = m_y.value(point, m_scale);
        Spot spot{.order = order(point), .x = m_x.value(point, m_scale), .y = value.value};
        spot.error = std::isfinite(value.error) ? value.error : 0;
        return spot;
    }

    /// The points of one budget as one: their means, and from minimum to maximum if there are several.
    std::optional<Spot> spotOf(std::size_t curve, const std::vector<std::size_t>& group) {
        std::vector<Spot> spots;
        std::optional<Spot> failed;
        bool isClamped = false;
        for (const std::size_t index : group) {
            const CurvePoint& point = m_curves.curves[curve].points[index];
            Spot spot = point.isChosen() ? spotOf(point) : Spot{};
            isClamped |= point.reached.has_value();
            if (std::isfinite(spot.x) && std::isfinite(spot.y)) {
                spot.name = budgetText(point.key.budget);
                spots.push_back(std::move(spot));
            } else if (!point.error.empty()) {
                ++m_failed;
                if (std::isfinite(spot.x)) { // chosen, but not scored
                    failed = Spot{.order = spot.order, .x = spot.x, .mark = PointMark::failed, .name = {}};
                    failed->name = budgetText(point.key.budget) + ": " + point.error;
                }
            }
        }
        m_hasCrosses |= spots.empty() && failed;
        if (spots.empty())
            return failed;
        Spot mean = meanOf(spots);
        if (isClamped)
            mean.mark = PointMark::hollow;
        m_hasClamped |= isClamped;
        return mean;
    }

    static Spot meanOf(const std::vector<Spot>& spots) {
        Spot mean = spots.front(); // with the errors of a single point
        if (spots.size() == 1)
            return mean;
        const auto count = static_cast<double>(spots.size());
        mean.order = mean.x = mean.y = mean.error = 0;
        for (const Spot& spot : spots) {
            mean.order += spot.order / count;
            mean.x += spot.x / count;
            mean.y += spot.y / count;
        }
        mean.low = std::ranges::min(spots, {}, &Spot::y).y;
        mean.high = std::ranges::max(spots, {}, &Spot::y).y;
        mean.name = fmt::format("{}, {} repetitions", mean.name, spots.size());
        return mean;
    }

    void addLine(std::size_t curve, const std::vector<std::size_t>& line) {
        const Curve& own = m_curves.curves[curve];
        std::vector<Spot> spots;
        for (std::vector<std::size_t>& group : repetitionsOf(own, line)) {
            std::optional<Spot> spot = spotOf(curve, group);
            if (!spot)
                continue;
            const bool isCurrent = !m_look.current.empty() &&
                                   std::ranges::any_of(group, [&](std::size_t i) { return own.points[i].mask == m_look.current; });
            spot->place = m_made.places.size();
            m_made.places.push_back({curve, std::move(group), {}});
            if (isCurrent)
                append(m_current, *spot);
            m_hasBands |= std::isfinite(spot->low);
            m_hasErrors |= spot->error > 0;
            spots.push_back(*std::move(spot));
        }
        std::ranges::stable_sort(spots, {}, [](const Spot& spot) { return std::pair(spot.order, spot.x); });
        if (std::ranges::none_of(spots, [](const Spot& spot) { return std::isfinite(spot.y); }))
            return; // nothing of it was scored
        const PointKey& key = own.points[line.front()].key;
        FigureSeries& series = newSeries(curveLabel(own, key), SeriesStyle::line);
        series.colour = m_curves.curves.size() * trainingNumber(key.recovered) + curve;
        for (const Spot& spot : spots)
            place(series, spot);
    }

    /// 0 without a recovery training; otherwise 1, 2, .. in the order in which trainings are drawn.
    std::size_t trainingNumber(const std::string& recovered) {
        if (recovered.empty())
            return 0;
        const auto found = std::ranges::find(m_trainings, recovered);
        const auto number = static_cast<std::size_t>(found - m_trainings.begin()) + 1;
        if (found == m_trainings.end())
            m_trainings.push_back(recovered);
        return number;
    }

    void place(FigureSeries& series, const Spot& spot) {
        append(series, spot);
        if (std::isfinite(spot.y))
            m_drawn.push_back(spot);
    }

    void addOthers() {
        FigureSeries others;
        others.label = "other masks";
        others.style = SeriesStyle::points;
        for (const OtherPoint& other : otherPoints(m_session, m_curves, m_prices)) {
            Spot spot = spotOf(other.point);
            if (!std::isfinite(spot.x) || !std::isfinite(spot.y))
                continue;
            const Evaluation& evaluation = m_session.evaluations[other.evaluation];
            spot.name = shownName(evaluation.mask, evaluation.adapter);
            spot.place = m_made.places.size();
            m_made.places.push_back({0, {}, other.evaluation});
            m_hasErrors |= spot.error > 0;
            const bool isCurrent = other.point.mask == m_look.current && !evaluation.adapter.isPresent();
            place(isCurrent ? m_current : others, spot);
        }
        for (FigureSeries* series : {&others, &m_current})
            if (!series->values.empty())
                m_made.figure.series.push_back(std::move(*series));
    }

    std::vector<double> drawn(double Spot::*along) const {
        std::vector<double> values;
        for (const Spot& spot : m_drawn)
            values.push_back(spot.*along);
        return values;
    }

    void setAxes() {
        FigureAxis& x = m_made.figure.x;
        const std::vector<double> xs = drawn(&Spot::x);
        x.label = m_x.label(m_scale);
        if (m_x.isSaving)
            x.range = AxisRange{0, std::max(1.04 * std::ranges::max(xs), 1e-3)};
        else
            x.logarithmic = usedScale(ScaleKind::automatic, xs) == ScaleKind::logarithmic;
        FigureAxis& y = m_made.figure.y;
        y.label = m_y.label(m_scale);
        const std::vector<double> values = drawn(&Spot::y);
        const bool isAutomatic = m_look.scale == ScaleKind::automatic;
        const bool isTask = &m_y == &yQuantity("task");
        const ScaleKind wanted = isAutomatic && m_y.isLogarithmic ? ScaleKind::logarithmic
                                 : isAutomatic && isTask          ? ScaleKind::linear
                                                                  : m_look.scale;
        y.logarithmic = usedScale(wanted, values) == ScaleKind::logarithmic;
        m_below = y.logarithmic ? std::ranges::count_if(values, [](double value) { return value <= 0; }) : 0;
    }

    double denseValue() const {
        const double value = m_y.value(m_curves.dense, m_scale).value;
        const bool isDifference = &m_y == &yQuantity("delta");
        return isDifference && std::isfinite(m_curves.dense.lossNats) ? 0 : value;
    }

    void addDense() {
        const double value = denseValue();
        if (!std::isfinite(value) || (m_made.figure.y.logarithmic && value <= 0))
            return;
        FigureSeries& dense = newSeries("dense model", SeriesStyle::level);
        dense.values = {value};
        dense.names = {"dense"};
        if (const double x = m_x.value(m_curves.dense, m_scale); !m_x.isSaving && std::isfinite(x))
            dense.positions = {x};
    }

    /// The points that no other point is better than on both axes. A mask that saves more also saves enough where less
    /// is asked, so that the height of a step is that of its right end.
    void addFront() {
        if (!m_look.pareto)
            return;
        std::vector<std::pair<double, double>> points;
        for (const Spot& spot : m_drawn)
            points.emplace_back(spot.x, spot.y);
        if (const double x = m_x.isSaving ? 0 : m_x.value(m_curves.dense, m_scale); std::isfinite(x))
            if (const double y = denseValue(); std::isfinite(y))
                points.emplace_back(x, y);
        const bool isXHigh = m_x.better == BetterEnd::high;
        const double sign = isHighBetter(m_y, m_scale) ? 1 : -1;
        std::ranges::sort(points, std::greater(), [&](const auto& point) {
            return std::pair(isXHigh ? point.first : -point.first, sign * point.second);
        });
        std::vector<std::pair<double, double>> front;
        for (const auto& point : points)
            if (front.empty() || sign * point.second > sign * front.back().second)
                front.push_back(point);
        std::ranges::sort(front);
        std::erase_if(front, [&](const auto& point) { return m_made.figure.y.logarithmic && point.second <= 0; });
        if (front.size() < 2)
            return;
        FigureSeries& series =
            newSeries("Pareto front", isXHigh ? SeriesStyle::stepsRight : SeriesStyle::stepsLeft);
        for (const auto& [x, y] : front) {
            series.positions.push_back(x);
            series.values.push_back(y);
        }
    }

    void setTexts() {
        std::vector<std::string> notes;
        if (m_curves.conditions.scoresCalibrationText)
            notes.emplace_back("scored on the calibration text");
        if (m_hasClamped)
            notes.emplace_back("hollow: the strategy cannot reach the budget, and this is its largest");
        if (m_failed > 0)
            notes.push_back(counted(static_cast<std::uint64_t>(m_failed), "point") +
                            (m_hasCrosses ? " failed (×)" : " failed"));
        if (m_below > 0)
            notes.push_back(counted(static_cast<std::uint64_t>(m_below), "point") + " not positive, not drawn");
        Figure& figure = m_made.figure;
        figure.note = join(notes, " · ");
        figure.caption = figureCaption(m_session.model, figure.y.label + " against " + figure.x.label);
        if (std::string conditions = conditionsText(m_curves.conditions); !conditions.empty()) {
            conditions.front() = static_cast<char>(conditions.front() - 'a' + 'A'); // "calibrated", "scored"
            figure.caption += fmt::format(" {}.", conditions);
        }
        if (m_hasErrors)
            figure.caption += fmt::format(" Whiskers: ±{} standard errors of the paired difference from the dense model.",
                                          whiskerErrors);
        if (m_hasBands)
            figure.caption += " Bands: minimum to maximum of the repetitions; their lines: means.";
        if (m_curves.conditions.scoresCalibrationText)
            figure.caption += " The scored text is the calibration text.";
    }

    const Session& m_session;
    const Curves& m_curves;
    const CurveLook& m_look;
    PriceList m_prices;
    std::vector<std::string> m_trainings; ///< names of the trainings of drawn lines
    CurveScale m_scale;
    const XQuantity& m_x;
    const YQuantity& m_y;
    CurveFigure m_made;
    FigureSeries m_current;
    std::vector<Spot> m_drawn; ///< all points with a value
    long m_failed = 0;
    long m_below = 0; ///< points that a logarithmic axis cannot show
    bool m_hasClamped = false;
    bool m_hasCrosses = false;
    bool m_hasBands = false;
    bool m_hasErrors = false;
};

} // namespace

CurveFigure curveFigure(const Session& session, const Curves& curves, const CurveLook& look) {
    return CurvePlotter(session, curves, look).plotted();
}

} // namespace secateur
