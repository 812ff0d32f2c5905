#include "widgets/plot/plot_legend.h"

#include <qcustomplot.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace secateur {

namespace {

/// The longest line of a label in pixels.
int lengthOf(const QString& label, const QFont& font) {
    int longest = 0;
    for (const QString& line : label.split('\n'))
        longest = std::max(longest, QFontMetrics(font).horizontalAdvance(line));
    return longest;
}

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

/// The width of a label with the gap beside it, in pixels.
int widthOf(const QString& label, const PlotTheme& theme) {
    return label.isEmpty() ? 0 : lengthOf(label, theme.font) + theme.length(12);
}

void addLowLabel(QCPLayoutGrid& row, const QString& label, const PlotTheme& theme) {
    if (label.isEmpty())
        return;
    auto* element = new QCPTextElement(row.parentPlot(), label, theme.font);
    element->setTextColor(theme.text);
    element->setLayer("axes");
    element->setMargins({theme.length(2), 0, theme.length(2), 0}); // the row is not higher than a legend's
    row.addElement(0, row.columnCount(), element);
    row.setColumnStretchFactor(row.columnCount() - 1, noStretch);
}

/// @param room in pixels
void addLegend(QCPLayoutGrid& row, int room, const PlotTheme& theme) {
    QCustomPlot& plot = *row.parentPlot();
    auto* legend = new QCPLegend;
    row.addElement(0, row.columnCount(), legend);
    row.setColumnStretchFactor(row.columnCount() - 1, noStretch);
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
    legend->setWrap(legendColumns(named, room, theme));
    for (QCPAbstractPlottable* plottable : named)
        plottable->addToLegend(legend);
}

} // namespace

QString takeLowLabel(QCPAxis* axis, const PlotTheme& theme) {
    if (!axis)
        return {};
    const QCustomPlot& plot = *axis->parentPlot();
    const int titles = plot.plotLayout()->rowCount() - 1;
    constexpr int ownLines = 3; // legend, tick labels and label of the other axis
    const int room = plot.viewport().height() - (titles + ownLines) * QFontMetrics(theme.font).height() -
                     theme.length(28); // and the margins between them
    const QString label = axis->label();
    if (lengthOf(label, theme.font) <= room)
        return {};
    axis->setLabel({});
    return QString(label).replace('\n', ' ');
}

void addLegendRow(QCPLayoutGrid& row, const LowLabels& labels, bool hasLegend, const PlotTheme& theme) {
    const int room = row.parentPlot()->viewport().width() - widthOf(labels.left, theme) - widthOf(labels.right, theme);
    addLowLabel(row, labels.left, theme);
    if (hasLegend)
        addLegend(row, room, theme);
    row.addElement(0, row.columnCount(), new QCPLayoutElement(row.parentPlot()));
    addLowLabel(row, labels.right, theme);
}

} // namespace secateur
