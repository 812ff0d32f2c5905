#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_theme.h"

#include <vector>

class QCPAxis;

namespace secateur {

/// Draws the quantiles of a bands figure as a column at each position: bands between the first quantile and the last
/// but one, the second and the one before that and so on, ever darker; the middle one as a line; least and greatest as
/// ticks. What is drawn belongs to the plot and has a name for the legend.
void addBands(QCPAxis& x, QCPAxis& y, const std::vector<FigureSeries>& quantiles, const PlotTheme& theme);

} // namespace secateur
