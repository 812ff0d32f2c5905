#include "widgets/plot/plot_curves.h"

#include "analysis/base/statistics.h"
#include "widgets/plot/plot_boxes.h"
#include "widgets/plot/plot_frame.h"

#include <qcustomplot.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace secateur {

namespace {

constexpr double pointUnits = 5.5;
constexpr double ringUnits = 12; ///< of the current mask
constexpr float bandTint = 0.2F;
constexpr double thinTint = 0.55;  ///< share of a thin line's colour
constexpr double frontTint = 0.28; ///< share of the text colour
constexpr double frontUnits = 4;
constexpr double failedHeight = 0.025; ///< share of the axis below the cross of a failed point

using PointIndices = std::vector<std::size_t>;

QCPScatterStyle::ScatterShape curveShape(std::size_t colour) {
    constexpr std::array shapes{QCPScatterStyle::ssCircle, QCPScatterStyle::ssSquare, QCPScatterStyle::ssDiamond,
                                QCPScatterStyle::ssTriangle};
    return shapes[colour / lineColours().size() % shapes.size()];
}

PointMark markOf(const FigureSeries& series, std::size_t i) {
    return i < series.marks.size() ? series.marks[i] : PointMark::none;
}

bool isSteps(const FigureSeries& series) {
    return series.style == SeriesStyle::stepsRight || series.style == SeriesStyle::stepsLeft;
}

bool isShown(double value, const QCPAxis& axis) {
    return std::isfinite(value) && (value > 0 || axis.scaleType() != QCPAxis::stLogarithmic);
}

double heightOfFailed(const QCPAxis& axis) {
    const QCPRange range = axis.range();
    return axis.scaleType() == QCPAxis::stLogarithmic ? range.lower * std::pow(range.upper / range.lower, failedHeight)
                                                      : range.lower + failedHeight * range.size();
}

/// The place of a point on the axes; not finite if it is not drawn.
QPointF placeOf(const FigureSeries& series, std::size_t i, const QCPAxis& x, const QCPAxis& y) {
    const double nowhere = std::nan("");
    const bool hasPlace =
        i < series.positions.size() && i < series.values.size() && !isSteps(series) && isShown(series.positions[i], x);
    if (hasPlace && markOf(series, i) == PointMark::failed)
        return {series.positions[i], heightOfFailed(y)};
    return hasPlace && isShown(series.values[i], y) ? QPointF(series.positions[i], series.values[i])
                                                    : QPointF(nowhere, nowhere);
}

/// All values that the axis should show: points, ends of bands and whiskers, levels.
std::vector<double> shownValues(const Figure& figure) {
    std::vector<double> values;
    for (const FigureSeries& series : figure.series) {
        values.insert(values.end(), series.values.begin(), series.values.end());
        values.insert(values.end(), series.lows.begin(), series.lows.end());
        values.insert(values.end(), series.highs.begin(), series.highs.end());
        for (std::size_t i = 0; i < std::min(series.values.size(), series.errors.size()); ++i)
            for (const double sign : {-1.0, 1.0})
                values.push_back(series.values[i] + sign * whiskerErrors * series.errors[i]);
        for (const FigureBox& box : series.boxes) {
            values.insert(values.end(), {box.lower, box.upper});
            values.insert(values.end(), box.outliers.begin(), box.outliers.end());
        }
    }
    if (figure.y.logarithmic)
        std::erase_if(values, [](double value) { return !(value > 0); });
    return values;
}

AxisRange curveRange(const Figure& figure) {
    const std::vector<double> values = shownValues(figure);
    const auto [least, most] = finiteRange(values);
    if (std::isnan(least))
        return {figure.y.logarithmic ? 0.1 : 0, 1};
    if (figure.y.logarithmic) {
        const double room = std::max(std::pow(most / least, 0.06), 1.05);
        return {least / room, most * room};
    }
    const double room = most > least ? 0.06 * (most - least) : std::max(0.05 * std::abs(most), 0.5);
    return {least - room, most + room};
}

/// A plottable of points in their order. QCPGraph would sort them by x.
QCPCurve* addPath(QCPAxis& x, QCPAxis& y, const std::vector<QPointF>& points) {
    auto* path = new QCPCurve(&x, &y);
    QVector<double> keys;
    QVector<double> values;
    for (const QPointF& point : points) {
        keys << point.x();
        values << point.y();
    }
    path->setData(keys, values);
    path->setSelectable(QCP::stNone);
    return path;
}

std::vector<QPointF> placesOf(const FigureSeries& series, const PointIndices& indices, const QCPAxis& x,
                              const QCPAxis& y) {
    std::vector<QPointF> places;
    for (const std::size_t i : indices)
        places.push_back(placeOf(series, i, x, y));
    return places;
}

PointIndices drawnPoints(const FigureSeries& series, const QCPAxis& x, const QCPAxis& y, bool failed) {
    PointIndices indices;
    for (std::size_t i = 0; i < series.values.size(); ++i)
        if ((markOf(series, i) == PointMark::failed) == failed && std::isfinite(placeOf(series, i, x, y).y()))
            indices.push_back(i);
    return indices;
}

class CurvesPainter {
public:
    CurvesPainter(QCPAxis& x, QCPAxis& y, const PlotTheme& theme)
        : m_x(x)
        , m_y(y)
        , m_theme(theme) {}

    /// @param index place in the palette
    void add(const FigureSeries& series, std::size_t index) {
        switch (series.style) {
        case SeriesStyle::line:
            addLine(series, index);
            break;
        case SeriesStyle::boxes:
            addBoxes(m_x, m_y, series, lineColour(index), m_theme);
            break;
        case SeriesStyle::points:
            addPoints(series);
            break;
        case SeriesStyle::level:
            addLevel(series);
            break;
        case SeriesStyle::stepsRight:
        case SeriesStyle::stepsLeft:
            addSteps(series);
            break;
        case SeriesStyle::thinLine:
        case SeriesStyle::plainLine:
        case SeriesStyle::dashed:
        case SeriesStyle::dashDotted:
            addPlainLine(series, lineColour(index));
            break;
        }
    }

private:
    void addLine(const FigureSeries& series, std::size_t index) {
        const QColor colour = lineColour(index);
        addBand(series, colour);
        const PointIndices drawn = drawnPoints(series, m_x, m_y, false);
        QCPCurve* line = addPath(m_x, m_y, placesOf(series, drawn, m_x, m_y));
        line->setPen(m_theme.pen(colour, 1.3));
        const QCPScatterStyle style(curveShape(index), m_theme.pen(colour, 1.3), colour, pointUnits * m_theme.unit);
        line->setScatterStyle(style);
        line->setName(QString::fromStdString(series.label));
        addWhiskers(series, drawn, colour);
        addHollow(series, drawn, style);
        addFailed(series, colour);
    }

    void addPlainLine(const FigureSeries& series, const QColor& colour) {
        QCPCurve* line = addPath(m_x, m_y, placesOf(series, drawnPoints(series, m_x, m_y, false), m_x, m_y));
        QPen pen = series.style == SeriesStyle::thinLine ? m_theme.pen(mixed(m_theme.background, colour, thinTint))
                                                         : m_theme.pen(colour, 2);
        if (series.style == SeriesStyle::dashed)
            pen.setDashPattern({4, 2.5});
        else if (series.style == SeriesStyle::dashDotted)
            pen.setDashPattern({5, 2, 1, 2});
        line->setPen(pen);
        line->setName(QString::fromStdString(series.label));
    }

    void addBand(const FigureSeries& series, QColor colour) {
        std::vector<QPointF> outline;
        bool isWide = false;
        const std::size_t count = std::min(series.lows.size(), series.highs.size());
        const auto add = [&](std::size_t i, const std::vector<double>& ends) {
            const QPointF place = placeOf(series, i, m_x, m_y);
            const bool hasEnd = isShown(ends[i], m_y);
            if (std::isfinite(place.y()) && markOf(series, i) != PointMark::failed)
                outline.emplace_back(place.x(), hasEnd ? ends[i] : place.y());
            isWide |= hasEnd;
        };
        for (std::size_t i = 0; i < count; ++i)
            add(i, series.lows);
        for (std::size_t i = count; i-- > 0;)
            add(i, series.highs);
        if (!isWide)
            return;
        QCPCurve* band = addPath(m_x, m_y, outline);
        colour.setAlphaF(bandTint);
        band->setPen(Qt::NoPen);
        band->setBrush(colour);
        band->setName({});
        band->setLayer("grid"); // behind all lines
    }

    void addWhiskers(const FigureSeries& series, const PointIndices& drawn, const QColor& colour) {
        QVector<double> reach;
        for (const std::size_t i : drawn) {
            const double error = i < series.errors.size() ? series.errors[i] : 0;
            reach << (std::isfinite(error) ? whiskerErrors * error : 0);
        }
        if (std::ranges::none_of(reach, [](double each) { return each > 0; }))
            return;
        QCPCurve* middles = addPath(m_x, m_y, placesOf(series, drawn, m_x, m_y));
        middles->setLineStyle(QCPCurve::lsNone);
        middles->setName({});
        auto* whiskers = new QCPErrorBars(&m_x, &m_y);
        whiskers->setDataPlottable(middles);
        whiskers->setData(reach);
        whiskers->setPen(m_theme.pen(colour));
        whiskers->setWhiskerWidth(5 * m_theme.unit);
        whiskers->setName({});
    }

    void addHollow(const FigureSeries& series, PointIndices drawn, QCPScatterStyle style) {
        std::erase_if(drawn, [&](std::size_t i) { return markOf(series, i) != PointMark::hollow; });
        style.setBrush(m_theme.background);
        addMarks(placesOf(series, drawn, m_x, m_y), style);
    }

    void addFailed(const FigureSeries& series, const QColor& colour) {
        const PointIndices failed = drawnPoints(series, m_x, m_y, true);
        addMarks(placesOf(series, failed, m_x, m_y),
                 {QCPScatterStyle::ssCross, m_theme.pen(colour, 1.6), Qt::NoBrush, 6 * m_theme.unit});
    }

    QCPCurve* addMarks(const std::vector<QPointF>& places, const QCPScatterStyle& style) {
        if (places.empty())
            return nullptr;
        QCPCurve* marks = addPath(m_x, m_y, places);
        marks->setLineStyle(QCPCurve::lsNone);
        marks->setScatterStyle(style);
        marks->setName({});
        return marks;
    }

    /// Single masks in the text colour, unless they have one; hollow ones are rings in the colour of the selection.
    void addPoints(const FigureSeries& series) {
        const PointIndices drawn = drawnPoints(series, m_x, m_y, false);
        const QColor own = series.colour ? lineColours()[*series.colour % lineColours().size()] : m_theme.text;
        const QColor colour = series.isHollow ? m_theme.accent : own;
        const QCPScatterStyle style = series.isHollow
                                          ? QCPScatterStyle(QCPScatterStyle::ssCircle, m_theme.pen(colour, 1.8),
                                                            Qt::NoBrush, ringUnits * m_theme.unit)
                                          : QCPScatterStyle(QCPScatterStyle::ssTriangle, m_theme.pen(colour), colour,
                                                            (pointUnits + 1) * m_theme.unit);
        addWhiskers(series, drawn, colour);
        if (QCPCurve* marks = addMarks(placesOf(series, drawn, m_x, m_y), style))
            marks->setName(QString::fromStdString(series.label));
    }

    void addLevel(const FigureSeries& series) {
        if (series.values.empty() || !isShown(series.values.front(), m_y))
            return;
        const double height = series.values.front();
        QCPCurve* line = addPath(m_x, m_y, {{m_x.range().lower, height}, {m_x.range().upper, height}});
        QPen pen = m_theme.pen(m_theme.text);
        pen.setDashPattern({5, 3});
        line->setPen(pen);
        line->setName(QString::fromStdString(series.label));
        line->setLayer("grid");
        addMarks(
            placesOf(series, drawnPoints(series, m_x, m_y, false), m_x, m_y),
            {QCPScatterStyle::ssDiamond, m_theme.pen(m_theme.text), m_theme.text, (pointUnits + 1) * m_theme.unit});
    }

    void addSteps(const FigureSeries& series) {
        std::vector<QPointF> corners;
        for (std::size_t i = 0; i < std::min(series.positions.size(), series.values.size()); ++i) {
            const QPointF next(series.positions[i], series.values[i]);
            if (!corners.empty())
                corners.push_back(series.style == SeriesStyle::stepsRight ? QPointF(corners.back().x(), next.y())
                                                                          : QPointF(next.x(), corners.back().y()));
            corners.push_back(next);
        }
        QCPCurve* steps = addPath(m_x, m_y, corners);
        steps->setPen(m_theme.pen(mixed(m_theme.background, m_theme.text, frontTint), frontUnits));
        steps->setName(QString::fromStdString(series.label));
        steps->setLayer("grid");
    }

    QCPAxis& m_x;
    QCPAxis& m_y;
    const PlotTheme& m_theme;
};

bool isInTextColour(const FigureSeries& series) {
    return series.style == SeriesStyle::points || series.style == SeriesStyle::level || isSteps(series);
}

} // namespace

std::vector<std::size_t> curveColours(const Figure& figure) {
    std::vector<std::size_t> colours;
    std::size_t next = 0;
    for (const FigureSeries& series : figure.series) {
        colours.push_back(series.colour.value_or(next));
        next += isInTextColour(series) ? 0 : 1;
    }
    return colours;
}

void paintCurves(const PlotPlace& place, const Figure& figure) {
    Figure ranged = figure;
    if (!figure.y.range)
        ranged.y.range = curveRange(figure);
    if (!figure.x.range)
        ranged.x.range = rangeWithBoxes(figure);
    const QCPAxisRect* rect = addScatterAxes(place, 1, ranged);
    CurvesPainter painter(*rect->axis(QCPAxis::atBottom), *rect->axis(QCPAxis::atLeft), place.theme);
    const std::vector<std::size_t> colours = curveColours(figure);
    for (std::size_t i = 0; i < figure.series.size(); ++i)
        painter.add(figure.series[i], colours[i]);
    if (place.hasLegend) {
        addLegend(place, *addGrid(place.layout, 0));
        place.layout.setRowStretchFactor(0, stretchNothing);
    }
    place.layout.setRowSpacing(0);
    place.layout.simplify();
}

std::optional<QPointF> pointPixel(const QCustomPlot& plot, const Figure& figure, FigurePoint point) {
    const QCPAxisRect* rect = plot.axisRect();
    if (!rect || point.series >= figure.series.size())
        return std::nullopt;
    const QCPAxis& x = *rect->axis(QCPAxis::atBottom);
    const QCPAxis& y = *rect->axis(QCPAxis::atLeft);
    const QPointF place = placeOf(figure.series[point.series], point.point, x, y);
    if (!std::isfinite(place.y()))
        return std::nullopt;
    return QPointF(x.coordToPixel(place.x()), y.coordToPixel(place.y()));
}

std::optional<FigurePoint> nearestPoint(const QCustomPlot& plot, const Figure& figure, QPointF pixel, double reach) {
    std::optional<FigurePoint> nearest;
    double least = reach * reach;
    for (std::size_t series = 0; series < figure.series.size(); ++series)
        for (std::size_t i = 0; i < figure.series[series].places.size(); ++i) {
            const std::optional<QPointF> at = pointPixel(plot, figure, {series, i});
            const QPointF away = at.value_or(pixel) - pixel;
            const double square = QPointF::dotProduct(away, away);
            if (at && square <= least) {
                least = square;
                nearest = FigurePoint{series, i};
            }
        }
    return nearest;
}

} // namespace secateur
