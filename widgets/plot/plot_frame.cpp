#include "widgets/plot/plot_frame.h"

#include "widgets/plot/plot_scale.h"

#include <QString>

#include <qcustomplot.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace secateur {

namespace {

/// Maximum number of named ticks; labels of more ticks would overlap.
constexpr std::size_t mostNames = 48;

/// The largest number of legend columns that fit into `room` pixels.
int legendColumns(const std::vector<QCPAbstractPlottable*>& named, int room, const PlotTheme& theme) {
    const QFontMetrics metrics(theme.font);
    for (int columns = static_cast<int>(named.size()); columns > 1; --columns) {
        std::vector<int> widths(static_cast<std::size_t>(columns), 0);
        for (std::size_t i = 0; i < named.size(); ++i) {
            int& widest = widths[i % widths.size()];
            widest = std::max(widest, metrics.horizontalAdvance(named[i]->name()) + theme.length(22 + 4 + 12));
        }
        if (std::accumulate(widths.begin(), widths.end(), 0) <= room)
            return columns;
    }
    return 1;
}

} // namespace

QCPLayoutGrid* addGrid(QCPLayoutGrid& layout, int row) {
    auto* grid = new QCPLayoutGrid;
    layout.addElement(row, 0, grid);
    grid->setMargins({});
    return grid;
}

QString brokenLabel(const std::string& text, const QFont& font, int room) {
    const QFontMetrics metrics(font);
    QString label;
    QString line;
    for (const QString& word : QString::fromStdString(text).split(' ')) {
        if (!line.isEmpty() && metrics.horizontalAdvance(line + ' ' + word) > room) {
            label += line + '\n';
            line.clear();
        }
        line += line.isEmpty() ? word : ' ' + word;
    }
    return label + line;
}

void placeBeside(QCPLayoutGrid& layout, const std::vector<QCPAxisRect*>& rects, const PlotTheme& theme) {
    auto* sameHeight = new QCPMarginGroup(layout.parentPlot());
    for (QCPAxisRect* rect : rects) {
        rect->setMarginGroup(QCP::msTop | QCP::msBottom, sameHeight);
        rect->setMinimumMargins({0, theme.length(10), 0, theme.length(10)}); // the tips of the bar
    }
    layout.setColumnSpacing(theme.length(10));
    for (int column = 1; column < static_cast<int>(rects.size()); ++column)
        layout.setColumnStretchFactor(column, stretchNothing);
}

QCPAxisRect* addHeatMapAxes(QCPLayoutGrid& layout, const Figure& figure, const PlotTheme& theme) {
    QCPAxisRect* rect = addAxisRect(layout, 0, 0);
    QCPAxis* columns = rect->addAxis(QCPAxis::atBottom);
    QCPAxis* rows = rect->addAxis(QCPAxis::atLeft);
    const auto count = [](std::size_t cells) { return static_cast<double>(cells); };
    for (QCPAxis* axis : {columns, rows}) {
        styleAxis(*axis, theme);
        useIndexTicks(*axis, {});
        axis->setBasePen(Qt::NoPen);
        axis->grid()->setVisible(false);
    }
    columns->setLabel(QString::fromStdString(figure.x.label));
    columns->setTicks(!figure.x.label.empty());
    columns->setTickLabels(!figure.x.label.empty());
    const int longest = figure.cellTexts.empty() ? 14 : 28; // large cells leave room beside them
    if (figure.x.names.size() == figure.cells.columns() && figure.cells.columns() <= mostNames) {
        useNamedTicks(*columns, figure.x.names, longest);
        columns->setTickLabelRotation(90);
    }
    if (figure.y.names.size() == figure.cells.rows())
        useNamedTicks(*rows, figure.y.names, longest);
    columns->setRange(-0.5, count(figure.cells.columns()) - 0.5);
    rows->setLabel(QString::fromStdString(figure.y.label));
    rows->setRange(-0.5, count(figure.cells.rows()) - 0.5);
    rows->setRangeReversed(true);
    return rect;
}

QColor lineColour(std::size_t index) {
    return lineColours()[index % lineColours().size()];
}

void setUpValueAxis(QCPAxis& axis, const Figure& figure, bool right, const PlotTheme& theme) {
    const FigureAxis& described = right ? figure.rightY : figure.y;
    styleAxis(axis, theme);
    useValueTicks(axis, described.logarithmic);
    const AxisRange range =
        described.range ? *described.range : fittingRange(figure.series, right, described.logarithmic);
    axis.setRange(range.lower, range.upper);
    const int height = axis.parentPlot()->viewport().height();
    constexpr double shortLabel = 110; // of a low plot: not broken
    const int room = std::max(height / 2, std::min(height * 7 / 10, theme.length(shortLabel)));
    axis.setLabel(brokenLabel(described.label, theme.font, room));
    axis.grid()->setVisible(!right);
}

void addLegend(QCustomPlot& plot, QCPLayoutGrid& row, const PlotTheme& theme) {
    auto* legend = new QCPLegend;
    row.addElement(0, 0, legend);
    row.addElement(0, 1, new QCPLayoutElement(&plot));
    row.setColumnStretchFactor(0, stretchNothing);
    legend->setLayer("legend");
    legend->setBorderPen(Qt::NoPen);
    legend->setBrush(Qt::NoBrush);
    legend->setFont(theme.font);
    legend->setTextColor(theme.text);
    legend->setIconSize(theme.length(22), QFontMetrics(theme.font).height() + theme.length(1)); // with descenders
    legend->setIconTextPadding(theme.length(4));
    legend->setMargins({theme.length(6), 0, 0, 0});
    legend->setColumnSpacing(theme.length(12));
    legend->setRowSpacing(0);
    std::vector<QCPAbstractPlottable*> named;
    for (int i = 0; i < plot.plottableCount(); ++i)
        if (!plot.plottable(i)->name().isEmpty())
            named.push_back(plot.plottable(i));
    legend->setFillOrder(QCPLayoutGrid::foColumnsFirst);
    legend->setWrap(legendColumns(named, plot.viewport().width(), theme));
    for (QCPAbstractPlottable* plottable : named)
        plottable->addToLegend(legend);
}

QCPAxisRect* addScatterAxes(QCPLayoutGrid& layout, int row, const Figure& figure, const PlotTheme& theme) {
    QCPAxisRect* rect = addAxisRect(layout, row, 0);
    QCPAxis* x = rect->addAxis(QCPAxis::atBottom);
    setUpValueAxis(*rect->addAxis(QCPAxis::atLeft), figure, false, theme);
    styleAxis(*x, theme);
    useValueTicks(*x, figure.x.logarithmic);
    x->setLabel(brokenLabel(figure.x.label, theme.font, layout.parentPlot()->viewport().width() * 3 / 4));
    const AxisRange range =
        figure.x.range ? *figure.x.range : pointRange(figure.series, &FigureSeries::positions, figure.x.logarithmic);
    x->setRange(range.lower, range.upper);
    rect->setMinimumMargins({0, theme.length(6), theme.length(10), 0});
    return rect;
}

} // namespace secateur
