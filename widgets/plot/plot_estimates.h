#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_theme.h"

class QCPGraph;
class QCustomPlot;

namespace secateur {

/// Whether any value of a series is an estimate.
bool hasEstimates(const FigureSeries& series);

/// A light bar from 0 to each estimate; nothing where the axis does not show 0, which would lie about their sizes.
void addEstimateBars(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme);

/// A whisker for each estimate, and a hollow point over the line's where it is not separated from another.
void addWhiskers(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme);

/// What the legend says of them, where any series has some.
void addEstimateNotes(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme);

} // namespace secateur
