#include "widgets/plot/plot_grid.h"

#include "widgets/plot/figure_size.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_frame.h"

#include <qcustomplot.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace secateur {

namespace {

constexpr double unitsPerCm = 96 / 2.54;

bool hasValueAxes(const Figure& figure) {
    return figure.kind == FigureKind::curves || figure.kind == FigureKind::series ||
           figure.kind == FigureKind::scatter || figure.kind == FigureKind::histogram ||
           figure.kind == FigureKind::bands;
}

/// The axis rect of a part with value axes; null if it has several.
QCPAxisRect* rectOf(const QCustomPlot& plot, const QList<QCPAxisRect*>& before) {
    QCPAxisRect* found = nullptr;
    for (QCPAxisRect* rect : plot.axisRects()) {
        if (before.contains(rect))
            continue;
        if (found)
            return nullptr;
        found = rect;
    }
    return found;
}

/// Heights of the rows in pixels, in the proportions of a saved picture.
std::vector<int> rowHeights(const Figure& figure, std::size_t columns, double partCm, int height) {
    std::vector<double> wanted;
    for (std::size_t i = 0; i < figure.parts.size(); ++i) {
        if (i % columns == 0)
            wanted.push_back(0.1);
        wanted.back() = std::max(wanted.back(), figureHeightCm(figure.parts[i], partCm));
    }
    const double all = std::accumulate(wanted.begin(), wanted.end(), 0.0);
    std::vector<int> heights;
    for (const double each : wanted)
        heights.push_back(std::max(1, static_cast<int>(each / all * height)));
    return heights;
}

} // namespace

void paintGrid(const PlotPlace& place, const Figure& figure) {
    if (figure.parts.empty())
        return;
    const PlotTheme& theme = place.theme;
    const bool isCommon = place.hasLegend && hasCommonLegend(figure);
    const double widthCm = place.room.width() / theme.unit / unitsPerCm;
    const int columns = gridColumns(figure, widthCm);
    const int width = place.room.width() / columns - theme.length(4);
    const std::vector<int> heights =
        rowHeights(figure, static_cast<std::size_t>(columns), widthCm / columns, place.room.height());
    QCPLayoutGrid& cells = *addGrid(place.layout, 1);
    cells.setColumnSpacing(theme.length(8));
    cells.setRowSpacing(theme.length(4));
    std::vector<QCPMarginGroup*> sides;
    for (int column = 0; column < columns; ++column)
        sides.push_back(new QCPMarginGroup(&place.plot));
    for (int i = 0; i < static_cast<int>(figure.parts.size()); ++i) {
        const Figure& part = figure.parts[static_cast<std::size_t>(i)];
        const int row = i / columns;
        const int height = heights[static_cast<std::size_t>(row)];
        auto* cell = new QCPLayoutGrid;
        cells.addElement(row, i % columns, cell);
        cells.setRowStretchFactor(row, height);
        cell->setMargins({});
        cell->setRowSpacing(theme.length(2));
        const QList<QCPAxisRect*> before = place.plot.axisRects();
        paintPart({.plot = place.plot,
                   .layout = *cell,
                   .room = {width, height},
                   .theme = theme,
                   .hasLegend = place.hasLegend && !isCommon},
                  part);
        if (QCPAxisRect* rect = hasValueAxes(part) ? rectOf(place.plot, before) : nullptr)
            rect->setMarginGroup(QCP::msLeft | QCP::msRight, sides[static_cast<std::size_t>(i % columns)]);
    }
    if (isCommon) {
        addLegend(place, *addGrid(place.layout, 0));
        place.layout.setRowStretchFactor(0, stretchNothing);
    }
    place.layout.setRowSpacing(0);
    place.layout.simplify();
}

} // namespace secateur
