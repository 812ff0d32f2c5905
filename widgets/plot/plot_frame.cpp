#include "widgets/plot/plot_frame.h"

#include "widgets/plot/plot_scale.h"

#include <QString>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace secateur {

namespace {

/// Maximum number of named ticks; labels of more ticks would overlap.
constexpr std::size_t mostNames = 48;

constexpr double besideEntry = 22 + 4 + 12; ///< icon, padding, space between columns

/// The largest number of legend columns that fit into `room` pixels.
int legendColumns(const QStringList& names, int room, const PlotTheme& theme) {
    const QFontMetrics metrics(theme.font);
    for (int columns = static_cast<int>(names.size()); columns > 1; --columns) {
        std::vector<int> widths(static_cast<std::size_t>(columns), 0);
        for (qsizetype i = 0; i < names.size(); ++i) {
            int& widest = widths[static_cast<std::size_t>(i) % widths.size()];
            widest = std::max(widest, metrics.horizontalAdvance(names[i]) + theme.length(besideEntry));
        }
        if (std::accumulate(widths.begin(), widths.end(), 0) <= room)
            return columns;
    }
    return 1;
}

/// Number of letters of a word that fit into `room` pixels, at least one.
qsizetype lettersThatFit(const QString& word, const QFontMetrics& metrics, int room) {
    qsizetype letters = word.size();
    while (letters > 1 && metrics.horizontalAdvance(word.left(letters)) > room)
        --letters;
    return letters;
}

/// Names of rows or columns, or ticks of the figure.
void useCellTicks(QCPAxis& axis, const FigureAxis& described, std::size_t cells, int longest) {
    if (!described.ticks.empty())
        useFixedTicks(axis, described.ticks, longest);
    else if (described.names.size() == cells)
        useNamedTicks(axis, described.names, longest);
    else
        useIndexTicks(axis, {});
}

/// Whether points stand at whole numbers only, as counts and lengths do.
bool isCounted(const std::vector<FigureSeries>& series) {
    const auto isWhole = [](double value) { return !std::isfinite(value) || value == std::floor(value); };
    return std::ranges::all_of(series,
                               [&](const FigureSeries& one) { return std::ranges::all_of(one.positions, isWhole); });
}

} // namespace

QCPLayoutGrid* addGrid(QCPLayoutGrid& layout, int row) {
    auto* grid = new QCPLayoutGrid;
    layout.addElement(row, 0, grid);
    grid->setMargins({});
    return grid;
}

QString brokenLabel(const std::string& text, const QFont& font, int room, int mostLines) {
    const QFontMetrics metrics(font);
    QStringList lines{QString()};
    for (QString word : QString::fromStdString(text).split(' ')) {
        QString& line = lines.last();
        const QString joined = line.isEmpty() ? word : line + ' ' + word;
        if (metrics.horizontalAdvance(joined) <= room) {
            line = joined;
            continue;
        }
        if (!line.isEmpty())
            lines << QString();
        for (qsizetype letters = lettersThatFit(word, metrics, room); letters < word.size();
             letters = lettersThatFit(word, metrics, room)) {
            lines.last() = word.left(letters);
            word = word.mid(letters);
            lines << QString();
        }
        lines.last() = word;
    }
    if (lines.size() > mostLines) {
        const QString rest = lines.mid(mostLines - 1).join(' ');
        lines = lines.first(mostLines - 1) << metrics.elidedText(rest, Qt::ElideRight, room);
    }
    return lines.join('\n');
}

bool isNarrow(int width, const PlotTheme& theme) {
    constexpr double narrowUnits = 300; // 7.9 cm
    return width < theme.length(narrowUnits);
}

int uprightLines(int width, const PlotTheme& theme) {
    return isNarrow(width, theme) ? 2 : 3;
}

void addText(QCPLayoutGrid& layout, int row, const QString& text, const PlotTheme& theme) {
    auto* element = new QCPTextElement(layout.parentPlot(), text, theme.font);
    element->setTextColor(theme.text);
    element->setLayer("axes");
    layout.addElement(row, 0, element);
    layout.setRowStretchFactor(row, stretchNothing);
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

QCPAxisRect* addHeatMapAxes(QCPLayoutGrid& layout, const Figure& figure, QSize room, const PlotTheme& theme) {
    QCPAxisRect* rect = addAxisRect(layout, 0, 0);
    QCPAxis* columns = rect->addAxis(QCPAxis::atBottom);
    QCPAxis* rows = rect->addAxis(QCPAxis::atLeft);
    const auto count = [](std::size_t cells) { return static_cast<double>(cells); };
    for (QCPAxis* axis : {columns, rows}) {
        styleAxis(*axis, theme);
        axis->setBasePen(Qt::NoPen);
        axis->grid()->setVisible(false);
    }
    const int letters = figure.cellTexts.empty() ? 14 : 28; // large cells leave room beside them
    const int longest = QFontMetrics(theme.font).horizontalAdvance(QString(letters, QChar('n')));
    const bool areNamed = figure.x.names.size() == figure.cells.columns() && !figure.x.names.empty() &&
                          figure.cells.columns() <= mostNames && figure.x.ticks.empty();
    FigureAxis described = figure.x;
    if (!areNamed)
        described.names.clear();
    useCellTicks(*columns, described, figure.cells.columns(), std::min(longest, room.height() / 3));
    useCellTicks(*rows, figure.y, figure.cells.rows(), std::min(longest, room.width() / 4));
    columns->setTickLabelRotation(areNamed ? 90 : 0);
    columns->setLabel(brokenLabel(figure.x.label, theme.font, room.width() * 3 / 4));
    columns->setTicks(!figure.x.label.empty());
    columns->setTickLabels(!figure.x.label.empty());
    columns->setRange(-0.5, count(figure.cells.columns()) - 0.5);
    rows->setLabel(brokenLabel(figure.y.label, theme.font, room.height() * 2 / 3, uprightLines(room.width(), theme)));
    rows->setRange(-0.5, count(figure.cells.rows()) - 0.5);
    rows->setRangeReversed(true);
    return rect;
}

QColor lineColour(std::size_t index) {
    return lineColours()[index % lineColours().size()];
}

void setUpValueAxis(QCPAxis& axis, const Figure& figure, bool right, const PlotPlace& place) {
    const FigureAxis& described = right ? figure.rightY : figure.y;
    styleAxis(axis, place.theme);
    useValueTicks(axis, described.logarithmic);
    if (!described.ticks.empty())
        useFixedTicks(axis, described.ticks, place.room.width() / 4);
    const AxisRange range =
        described.range ? *described.range : fittingRange(figure.series, right, described.logarithmic);
    axis.setRange(range.lower, range.upper);
    const int height = place.room.height();
    constexpr double shortLabel = 110; // of a low plot: not broken
    const int room = std::max(height / 2, std::min(height * 7 / 10, place.theme.length(shortLabel)));
    axis.setLabel(brokenLabel(described.label, place.theme.font, room, uprightLines(place.room.width(), place.theme)));
    axis.grid()->setVisible(!right);
}

void addLegend(const PlotPlace& place, QCPLayoutGrid& row) {
    const PlotTheme& theme = place.theme;
    const QFontMetrics metrics(theme.font);
    auto* legend = new QCPLegend;
    row.addElement(0, 0, legend);
    row.addElement(0, 1, new QCPLayoutElement(&place.plot));
    row.setColumnStretchFactor(0, stretchNothing);
    legend->setLayer("legend");
    legend->setBorderPen(Qt::NoPen);
    legend->setBrush(Qt::NoBrush);
    legend->setFont(theme.font);
    legend->setTextColor(theme.text);
    legend->setIconSize(theme.length(22), metrics.height() + theme.length(1)); // with descenders
    legend->setIconTextPadding(theme.length(4));
    legend->setMargins({theme.length(6), 0, 0, 0});
    legend->setColumnSpacing(theme.length(12));
    legend->setRowSpacing(0);
    QStringList names;
    std::vector<QCPAbstractPlottable*> named;
    for (int i = place.firstPlottable; i < place.plot.plottableCount(); ++i) {
        QCPAbstractPlottable& plottable = *place.plot.plottable(i);
        if (plottable.name().isEmpty() || names.contains(plottable.name()))
            continue;
        names << plottable.name();
        named.push_back(&plottable);
    }
    const int room = place.room.width() - theme.length(14); // margins
    legend->setFillOrder(QCPLayoutGrid::foColumnsFirst);
    legend->setWrap(legendColumns(names, room, theme));
    for (QCPAbstractPlottable* plottable : named) {
        plottable->setName(metrics.elidedText(plottable->name(), Qt::ElideMiddle, room - theme.length(besideEntry)));
        plottable->addToLegend(legend);
    }
}

QCPAxisRect* addScatterAxes(const PlotPlace& place, int row, const Figure& figure) {
    QCPAxisRect* rect = addAxisRect(place.layout, row, 0);
    QCPAxis* x = rect->addAxis(QCPAxis::atBottom);
    setUpValueAxis(*rect->addAxis(QCPAxis::atLeft), figure, false, place);
    styleAxis(*x, place.theme);
    useValueTicks(*x, figure.x.logarithmic, isCounted(figure.series));
    if (!figure.x.ticks.empty())
        useFixedTicks(*x, figure.x.ticks, place.room.width() / 3);
    x->setLabel(brokenLabel(figure.x.label, place.theme.font, place.room.width() * 3 / 4));
    const AxisRange range =
        figure.x.range ? *figure.x.range : pointRange(figure.series, &FigureSeries::positions, figure.x.logarithmic);
    x->setRange(range.lower, range.upper);
    rect->setMinimumMargins({0, place.theme.length(6), place.theme.length(10), 0});
    return rect;
}

} // namespace secateur
