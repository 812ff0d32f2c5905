#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_axes.h"

#include <vector>

class QCPAxis;
class QCPGraph;
class QCustomPlot;

namespace secateur {

/// Draws the quantiles of a bands figure as a column at each position, with a legend: symmetric pairs of quantiles as
/// bands, darker towards the median; the median as a line; minimum and maximum as ticks. The plot owns the drawing.
void addBands(QCPAxis& x, QCPAxis& y, const std::vector<FigureSeries>& quantiles, const PlotTheme& theme);

/// Whether any value of a series is an estimate.
bool hasEstimates(const FigureSeries& series);

/// Adds a light bar from 0 to each estimate. Adds none if the axis does not show 0, because lengths would mislead.
void addEstimateBars(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme);

/// Adds a whisker for each estimate, and a hollow point for estimates that are not separated from another value.
void addWhiskers(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme);

/// Adds legend entries for estimates, if any series has them.
void addEstimateNotes(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme);

} // namespace secateur
