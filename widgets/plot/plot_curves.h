#pragma once

#include "analysis/figures/figure.h"

#include <QPointF>

#include <cstddef>
#include <optional>
#include <vector>

class QCustomPlot;

namespace secateur {

struct PlotPlace;

/// Draws a figure of kind curves: the legend in row 0, the axes in row 1.
void paintCurves(const PlotPlace& place, const Figure& figure);

/// The place in the palette of each series of a figure of kind curves. Series in the text colour have the place of the
/// next line.
std::vector<std::size_t> curveColours(const Figure& figure);

/// A point of a figure of kind curves or scatter.
struct FigurePoint {
    std::size_t series = 0; ///< index in Figure::series
    std::size_t point = 0;  ///< index in FigureSeries::values
    bool operator==(const FigurePoint&) const = default;
};

/// Where a point was drawn in a plot, in pixels. Absent if it was not drawn: it has no position, or is a corner of a
/// staircase.
std::optional<QPointF> pointPixel(const QCustomPlot& plot, const Figure& figure, FigurePoint point);
/// The point with a place (FigureSeries::places) nearest to a pixel, within `reach` pixels. Of several points at one
/// pixel, the one drawn last.
/// @param plot in which paintFigure() has drawn the figure
std::optional<FigurePoint> nearestPoint(const QCustomPlot& plot, const Figure& figure, QPointF pixel, double reach);

} // namespace secateur
