#include "widgets/plot/figure_painter.h"

#include "widgets/plot/figure_size.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_cells.h"
#include "widgets/plot/plot_curves.h"
#include "widgets/plot/plot_cuts.h"
#include "widgets/plot/plot_frame.h"
#include "widgets/plot/plot_grid.h"
#include "widgets/plot/plot_layer_marks.h"
#include "widgets/plot/plot_panels.h"
#include "widgets/plot/plot_points.h"
#include "widgets/plot/plot_row_bars.h"
#include "widgets/plot/plot_scale.h"
#include "widgets/plot/plot_series.h"
#include "widgets/plot/plot_table.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace secateur {

namespace {

void addTitle(QCPLayoutGrid& layout, const QString& title, int room, const PlotTheme& theme) {
    if (!title.isEmpty())
        addText(layout, layout.rowCount(), QFontMetrics(theme.font).elidedText(title, Qt::ElideMiddle, room), theme);
}

/// Marks the cuts of the figure's mask. Heads divide the cell of their KV group.
void markCutHeads(QCPAxisRect& rect, const Figure& figure, const PlotTheme& theme) {
    const std::vector<LayerCuts> layers = cutsOf(*figure.mask);
    std::size_t heads = 0;
    for (const LayerCuts& layer : layers)
        heads = std::max(heads, layer.cells.size());
    if (layers.size() != figure.cells.rows() || heads == 0)
        return;
    QCPAxis* columns = rect.addAxis(QCPAxis::atBottom);
    columns->setVisible(false);
    columns->setRange(-0.5, static_cast<double>(heads) - 0.5);
    auto* cuts = new HeadsCuts(columns, rect.axis(QCPAxis::atLeft), theme); // belongs to the axis rect
    cuts->setLayers(layers);
}

/// Means of the rows, or shares of their classes, beside a heat map. @param shown values on the scale of the colours
PlotRowBars addRowBars(QCPLayoutGrid& layout, const Figure& figure, const Matrix& shown, const QStringList& classes,
                       const PlotTheme& theme) {
    constexpr double width = 44;
    PlotRowBars bars(layout, 0, 1, theme);
    if (classes.isEmpty())
        bars.setMeans(shown, figure.scale.kind == ScaleKind::logarithmic);
    else
        bars.setShares(shown, classes);
    bars.setTitle(classes.isEmpty() ? "layer mean" : "share (%)");
    bars.rows()->setRange(-0.5, static_cast<double>(shown.rows()) - 0.5);
    bars.rect()->setSizeConstraintRect(QCPLayoutElement::scrInnerRect);
    bars.rect()->setMinimumSize(theme.length(width), 0);
    bars.rect()->setMaximumSize(theme.length(width), QWIDGETSIZE_MAX);
    return bars;
}

/// @param shown values on the scale of the colours
ColourRange coloursOf(const Figure& figure, const Matrix& shown, const QStringList& classes) {
    if (!classes.isEmpty())
        return ColourRange::ofClasses(classes);
    if (figure.colour.range)
        return {std::vector{figure.colour.range->lower, figure.colour.range->upper}, figure.scale};
    return {shown.values(), figure.scale};
}

void paintHeatMap(const PlotPlace& place, const Figure& figure) {
    const PlotTheme& theme = place.theme;
    QCPLayoutGrid& layout = place.layout;
    QCPAxisRect* rect = addHeatMapAxes(layout, figure, place.room, theme);
    QStringList classes;
    for (const std::string& name : figure.colour.names)
        classes << QString::fromStdString(name);
    const Matrix shown = onScale(figure.cells, figure.scale.kind);
    const ColourRange range = coloursOf(figure, shown, classes);
    PlotCells(rect->axis(QCPAxis::atBottom), rect->axis(QCPAxis::atLeft), theme).setCells(shown, range);
    addCellTexts(*rect->axis(QCPAxis::atBottom), *rect->axis(QCPAxis::atLeft), shown, figure.cellTexts, range, theme);
    outlineCells(*rect->axis(QCPAxis::atBottom), *rect->axis(QCPAxis::atLeft), figure.outlined, theme);
    std::vector<QCPAxisRect*> rects{rect};
    if (figure.mask)
        markCutHeads(*rect, figure, theme);
    if (figure.rowBars && !isNarrow(place.room.width(), theme))
        rects.push_back(addRowBars(layout, figure, shown, classes, theme).rect());
    PlotColourBar bar(layout, 0, static_cast<int>(rects.size()), theme);
    rects.push_back(bar.rect());
    const QString label = brokenLabel(colourBarLabel(figure), theme.font, place.room.height() * 3 / 4,
                                      uprightLines(place.room.width(), theme));
    const QFontMetrics metrics(theme.font);
    for (QString& name : classes)
        name = metrics.elidedText(name, Qt::ElideRight, place.room.width() / 4);
    if (classes.isEmpty())
        bar.setRange(range, label);
    else
        bar.setClasses(classes, label);
    placeBeside(layout, rects, theme);
}

/// The shape of a line's points: discs on the left axis and diamonds on the right axis; squares when the colours
/// repeat.
QCPScatterStyle::ScatterShape pointShape(std::size_t index, bool onTheRight) {
    if (index / lineColours().size() % 2 == 1)
        return QCPScatterStyle::ssSquare;
    return onTheRight ? QCPScatterStyle::ssDiamond : QCPScatterStyle::ssCircle;
}

QString legendText(const FigureSeries& series) {
    const QString label = QString::fromStdString(series.label);
    return series.rightAxis ? label + " (right)" : label;
}

QVector<double> drawable(const std::vector<double>& values, bool logarithmic) {
    QVector<double> kept(values.begin(), values.end());
    for (double& value : kept)
        if (!std::isfinite(value) || (logarithmic && value <= 0))
            value = std::numeric_limits<double>::quiet_NaN();
    return kept;
}

/// Size of a line's points in pixels, limited by the distance between the points. @param width of the figure
double pointSize(int width, qsizetype points, const PlotTheme& theme) {
    const double room = width / static_cast<double>(std::max<qsizetype>(points, 1));
    return std::clamp(0.45 * room, 3 * theme.unit, 4.5 * theme.unit);
}

QCPGraph* addLine(QCPAxis& x, QCPAxis& y, const FigureSeries& series, std::size_t index, const PlotPlace& place) {
    const PlotTheme& theme = place.theme;
    const QColor colour = lineColour(index);
    QCPGraph* line = x.parentPlot()->addGraph(&x, &y);
    const QVector<double> values = drawable(series.values, y.scaleType() == QCPAxis::stLogarithmic);
    QVector<double> layers(values.size());
    std::iota(layers.begin(), layers.end(), 0.0);
    line->setData(layers, values, true);
    QPen pen = theme.pen(colour, 1.3);
    if (series.rightAxis)
        pen.setDashPattern({4, 2});
    line->setPen(pen);
    const double size = pointSize(place.room.width(), values.size(), theme);
    line->setScatterStyle({pointShape(index, series.rightAxis), theme.pen(colour), colour, size});
    line->setName(legendText(series));
    return line;
}

/// Draws the lines of a figure. Bars of estimates are drawn only if a single series has estimates; those of several
/// would hide one another.
void addLines(const Figure& figure, QCPAxis& x, QCPAxis& left, QCPAxis* right, const PlotPlace& place) {
    const bool hasBars = std::ranges::count_if(figure.series, hasEstimates) == 1;
    for (std::size_t i = 0; i < figure.series.size(); ++i) {
        const FigureSeries& series = figure.series[i];
        const QCPGraph* line = addLine(x, series.rightAxis ? *right : left, series, i, place);
        if (!hasEstimates(series))
            continue;
        if (hasBars)
            addEstimateBars(*line, series, place.theme);
        addWhiskers(*line, series, place.theme);
    }
}

void paintSeries(const PlotPlace& place, const Figure& figure) {
    const PlotTheme& theme = place.theme;
    QCPLayoutGrid& layout = place.layout;
    QCPAxisRect* rect = addAxisRect(layout, 1, 0);
    QCPAxis* x = rect->addAxis(QCPAxis::atBottom);
    QCPAxis* left = rect->addAxis(QCPAxis::atLeft);
    styleAxis(*x, theme);
    if (figure.x.ticks.empty())
        useIndexTicks(*x, {});
    else
        useFixedTicks(*x, figure.x.ticks, place.room.width() / 3);
    x->setLabel(brokenLabel(figure.x.label, theme.font, place.room.width() * 3 / 4));
    x->grid()->setVisible(false);
    std::size_t length = 1;
    for (const FigureSeries& series : figure.series)
        length = std::max(length, series.values.size());
    x->setRange(-0.5, static_cast<double>(length) - 0.5);

    setUpValueAxis(*left, figure, false, place);
    QCPAxis* right = nullptr;
    if (std::any_of(figure.series.begin(), figure.series.end(), [](const auto& series) { return series.rightAxis; })) {
        right = rect->addAxis(QCPAxis::atRight);
        setUpValueAxis(*right, figure, true, place);
    }
    if (figure.kind == FigureKind::bands)
        addBands(*x, *left, figure.series, theme);
    else
        addLines(figure, *x, *left, right, place);
    rect->setMinimumMargins({0, theme.length(6), theme.length(6), 0});
    addEstimateNotes(*rect, figure, theme);
    if (figure.mask)
        addLayerMarks(*x, *left, layerMarks(*figure.mask, nullptr, figure.kind == FigureKind::series), theme);
    if (place.hasLegend && (figure.series.size() > 1 || !estimatesIn(figure).empty() || figure.mask)) {
        addLegend(place, *addGrid(layout, 0));
        layout.setRowStretchFactor(0, stretchNothing);
    }
    layout.setRowSpacing(0);
    layout.simplify();
}

void paintHistogram(const PlotPlace& place, const Figure& figure) {
    const PlotTheme& theme = place.theme;
    QCPAxisRect* rect = addAxisRect(place.layout, 0, 0);
    QCPAxis* x = rect->addAxis(QCPAxis::atBottom);
    QCPAxis* y = rect->addAxis(QCPAxis::atLeft);
    setUpValueAxis(*y, figure, false, place);
    styleAxis(*x, theme);
    useValueTicks(*x, figure.x.logarithmic);
    x->setLabel(brokenLabel(figure.x.label, theme.font, place.room.width() * 3 / 4));
    x->grid()->setVisible(false);
    rect->setMinimumMargins({0, theme.length(6), theme.length(10), 0});
    if (figure.edges.empty())
        return;
    x->setRange(figure.edges.front(), figure.edges.back());
    QVector<double> counts(figure.series.front().values.begin(), figure.series.front().values.end());
    counts << 0; // the value after the last edge, which closes the last bin
    QCPGraph* steps = x->parentPlot()->addGraph(x, y);
    steps->setLineStyle(QCPGraph::lsStepLeft);
    steps->setData(QVector<double>(figure.edges.begin(), figure.edges.end()), counts, true);
    const QColor colour = lineColours().front();
    steps->setPen(theme.pen(colour));
    steps->setBrush(mixed(theme.background, colour, 0.35));
}

void addPoints(QCPAxis& x, QCPAxis& y, const FigureSeries& series, std::size_t index, const PlotTheme& theme) {
    const QColor colour = lineColour(index);
    QCPGraph* points = x.parentPlot()->addGraph(&x, &y);
    points->setData(QVector<double>(series.positions.begin(), series.positions.end()),
                    drawable(series.values, y.scaleType() == QCPAxis::stLogarithmic));
    points->setLineStyle(QCPGraph::lsNone);
    const QBrush inside = series.isHollow ? QBrush(Qt::NoBrush) : QBrush(colour);
    points->setScatterStyle({pointShape(index, false), theme.pen(colour, 1.3), inside, 6 * theme.unit});
    points->setName(QString::fromStdString(series.label));
    if (series.errors.empty())
        return;
    QVector<double> reach(series.errors.begin(), series.errors.end());
    for (double& error : reach)
        error = std::isfinite(error) ? whiskerErrors * error : 0;
    auto* whiskers = new QCPErrorBars(&x, &y);
    whiskers->setDataPlottable(points);
    whiskers->setData(reach);
    whiskers->setPen(theme.pen(colour));
    whiskers->setWhiskerWidth(6 * theme.unit);
    whiskers->setName({});
}

/// Whether the label of a value axis is too long to stand beside it. A legend and the other axis take half the height.
bool isLowFor(const QCPAxis& axis, const PlotPlace& place) {
    return QFontMetrics(place.theme.font).horizontalAdvance(axis.label()) > place.room.height() / 2;
}

/// Adds the legend in a row above the axes, and in front of it the label of the value axis, which has none then.
void addLegendAfterLabel(const PlotPlace& place, QCPLayoutGrid& row, QCPAxis& axis) {
    const QFontMetrics metrics(place.theme.font);
    const QString text =
        brokenLabel(axis.label().replace('\n', ' ').toStdString() + ":", place.theme.font, place.room.width() / 2, 2);
    PlotPlace beside = place;
    beside.room.rwidth() -= metrics.size(0, text).width() + place.theme.length(6);
    addLegend(beside, row);
    row.insertColumn(0);
    addText(row, 0, text, place.theme);
    row.setColumnStretchFactor(0, stretchNothing);
    axis.setLabel({});
}

/// The range of the values, with room below the lowest point: a point on the axis would be half hidden.
AxisRange rangeAroundPoints(const Figure& figure) {
    AxisRange range = fittingRange(figure.series, false, figure.y.logarithmic);
    const AxisRange points = pointRange(figure.series, &FigureSeries::values, figure.y.logarithmic);
    const double room = 0.12 * (range.upper - points.lower); // a point's radius in a low plot
    range.lower = std::min(range.lower, figure.y.logarithmic ? points.lower : points.lower - room);
    return range;
}

void paintScatter(const PlotPlace& place, const Figure& figure) {
    if (!figure.y.range) {
        Figure ranged = figure;
        ranged.y.range = rangeAroundPoints(figure);
        return paintScatter(place, ranged);
    }
    const QCPAxisRect* rect = addScatterAxes(place, 1, figure);
    for (std::size_t i = 0; i < figure.series.size(); ++i)
        addPoints(*rect->axis(QCPAxis::atBottom), *rect->axis(QCPAxis::atLeft), figure.series[i], i, place.theme);
    const bool isLow = isLowFor(*rect->axis(QCPAxis::atLeft), place);
    if (place.hasLegend && (figure.series.size() > 1 || isLow)) {
        QCPLayoutGrid* row = addGrid(place.layout, 0);
        if (isLow)
            addLegendAfterLabel(place, *row, *rect->axis(QCPAxis::atLeft));
        else
            addLegend(place, *row);
        place.layout.setRowStretchFactor(0, stretchNothing);
    }
    place.layout.setRowSpacing(0);
    place.layout.simplify();
}

/// Draws a scatter plot whose points are coloured by a third value, and its colour bar.
void paintShadedScatter(const PlotPlace& place, const Figure& figure) {
    if (!figure.y.range) { // add a margin, because points on the edge would be clipped
        Figure ranged = figure;
        ranged.y.range = pointRange(figure.series, &FigureSeries::values, figure.y.logarithmic);
        return paintShadedScatter(place, ranged);
    }
    QCPAxisRect* rect = addScatterAxes(place, 0, figure);
    rect->axis(QCPAxis::atBottom)->grid()->setVisible(true);
    const FigureSeries& series = figure.series.front();
    const ColourRange range(series.shades, figure.scale);
    std::vector<PlotPoint> points;
    for (std::size_t i = 0; i < series.values.size(); ++i)
        if (std::isfinite(series.positions[i]) && std::isfinite(series.values[i]))
            points.push_back({series.positions[i], series.values[i], range.colour(series.shades[i]),
                              i < series.cut.size() && series.cut[i]});
    addPlotPoints(*rect->axis(QCPAxis::atBottom), *rect->axis(QCPAxis::atLeft), std::move(points), place.theme);
    PlotColourBar bar(place.layout, 0, 1, place.theme);
    bar.setRange(range, brokenLabel(figure.colour.label, place.theme.font, place.room.height() * 3 / 4,
                                    uprightLines(place.room.width(), place.theme)));
    constexpr double fewLayers = 6; // with fewer layers, value ticks would be fractions of a layer
    if (range.upper() < fewLayers)
        useIndexTicks(*bar.axis(), {});
    placeBeside(place.layout, {rect, bar.rect()}, place.theme);
}
bool isShaded(const Figure& figure) {
    return !figure.series.empty() && !figure.series.front().shades.empty();
}

void paintContent(const PlotPlace& place, const Figure& figure) {
    switch (figure.kind) {
    case FigureKind::heatMap:
        return paintHeatMap(place, figure);
    case FigureKind::panels:
        return paintPanels(place, figure);
    case FigureKind::curves:
        return paintCurves(place, figure);
    case FigureKind::histogram:
        return paintHistogram(place, figure);
    case FigureKind::scatter:
        return isShaded(figure) ? paintShadedScatter(place, figure) : paintScatter(place, figure);
    case FigureKind::series:
    case FigureKind::bands:
        return paintSeries(place, figure);
    case FigureKind::grid:
        return paintGrid(place, figure);
    case FigureKind::table:
        return paintTable(place, figure.table);
    }
}

} // namespace

void paintPart(const PlotPlace& place, const Figure& figure) {
    QCPLayoutGrid& rows = place.layout;
    const int room = std::max(place.room.width() - place.theme.length(8), 1);
    const int firstRow = rows.rowCount();
    addTitle(rows, QString::fromStdString(figure.title), room, place.theme);
    if (!figure.note.empty())
        addText(rows, rows.rowCount(), brokenLabel(figure.note, place.theme.font, room), place.theme);
    const int above = QFontMetrics(place.theme.font).height() * (rows.rowCount() - firstRow);
    QCPLayoutGrid* content = addGrid(rows, rows.rowCount());
    paintContent({.plot = place.plot,
                  .layout = *content,
                  .room = {place.room.width(), std::max(place.room.height() - above, 1)},
                  .theme = place.theme,
                  .hasLegend = place.hasLegend,
                  .firstPlottable = place.plot.plottableCount()},
                 figure);
}

void paintFigure(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme) {
    clearPlot(plot);
    plot.setBackground(QBrush(theme.background));
    plot.setAutoAddPlottableToLegend(false);
    const int edge = theme.length(edgeUnits);
    plot.plotLayout()->setMargins({edge, edge, edge, edge});
    plot.plotLayout()->setRowSpacing(theme.length(2));
    const QSize room = plot.viewport().size() - QSize(2 * edge, 2 * edge);
    paintPart({.plot = plot, .layout = *plot.plotLayout(), .room = room, .theme = theme}, figure);
}

} // namespace secateur
