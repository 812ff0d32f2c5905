#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_theme.h"

#include <vector>

class QCPAxis;
class QCPGraph;
class QCustomPlot;

namespace secateur {

/// Draws the quantiles of a bands figure as a column at each position: bands between the first quantile and the last
/// but one, the second and the one before that and so on, ever darker; the middle one as a line; least and greatest as
/// ticks. What is drawn belongs to the plot and has a name for the legend.
void addBands(QCPAxis& x, QCPAxis& y, const std::vector<FigureSeries>& quantiles, const PlotTheme& theme);

/// Whether any value of a series is an estimate.
bool hasEstimates(const FigureSeries& series);

/// A light bar from 0 to each estimate; nothing where the axis does not show 0, which would lie about their sizes.
void addEstimateBars(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme);

/// A whisker for each estimate, and a hollow point over the line's where it is not separated from another.
void addWhiskers(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme);

/// What the legend says of them, where any series has some.
void addEstimateNotes(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme);

} // namespace secateur
