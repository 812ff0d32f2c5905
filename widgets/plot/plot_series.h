#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_axes.h"

#include <vector>

class QCPAxis;
class QCPAxisRect;
class QCPGraph;

namespace secateur {

/// Draws the quantiles of a bands figure as a column at each position, with a legend. Symmetric pairs of quantiles are
/// bands, which are darker towards the median. The median is a line; minimum and maximum are ticks. The plot owns the
/// drawing.
void addBands(QCPAxis& x, QCPAxis& y, const std::vector<FigureSeries>& quantiles, const PlotTheme& theme);

/// Whether a series has a value that is an estimate.
bool hasEstimates(const FigureSeries& series);

/// Adds a light bar from 0 to each estimate. Adds no bars if the axis does not show 0, because their lengths would
/// mislead.
void addEstimateBars(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme);

/// Adds a whisker for each estimate. An estimate that is not separated from another value gets a hollow point.
void addWhiskers(const QCPGraph& line, const FigureSeries& series, const PlotTheme& theme);

/// Adds legend entries that explain the marks of estimates, if any series has estimates.
void addEstimateNotes(QCPAxisRect& rect, const Figure& figure, const PlotTheme& theme);

} // namespace secateur
