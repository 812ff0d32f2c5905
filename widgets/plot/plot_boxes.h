#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_axes.h"

#include <QColor>

#include <optional>

class QCPAxis;

namespace secateur {

/// Draws the box plots of a series (SeriesStyle::boxes): whiskers, quartiles, median, and outliers as red rings.
void addBoxes(QCPAxis& x, QCPAxis& y, const FigureSeries& series, const QColor& colour, const PlotTheme& theme);

/// The range of the x axis in which all box plots of a figure lie with their width. Empty if it has none.
std::optional<AxisRange> rangeWithBoxes(const Figure& figure);

} // namespace secateur
