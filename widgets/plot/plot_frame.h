#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_axes.h"

#include <QColor>
#include <QString>

#include <cstddef>
#include <string>
#include <vector>

class QCPAxis;
class QCPAxisRect;
class QCPLayoutGrid;
class QCustomPlot;
class QFont;

namespace secateur {

// Parts that the painters of several kinds of figures share.

inline constexpr double stretchNothing = 0.0001; ///< stretch factor of a column or row that gets no spare room

/// Adds a grid without margins in a row of a layout.
QCPLayoutGrid* addGrid(QCPLayoutGrid& layout, int row);

/// Breaks a label between words into lines that are at most `room` pixels wide.
QString brokenLabel(const std::string& text, const QFont& font, int room);

/// Aligns the elements beside the axes, the colour bar last, with the height of the axes.
void placeBeside(QCPLayoutGrid& layout, const std::vector<QCPAxisRect*>& rects, const PlotTheme& theme);

/// Adds the axes of a heat map: columns at the bottom, rows on the left and counted from the top.
QCPAxisRect* addHeatMapAxes(QCPLayoutGrid& layout, const Figure& figure, const PlotTheme& theme);

/// The colour of a line by its place in the palette, which repeats.
QColor lineColour(std::size_t index);

/// Sets label, scale and ticks of the axis of values, and its range: that of the figure, or one that fits the series.
void setUpValueAxis(QCPAxis& axis, const Figure& figure, bool right, const PlotTheme& theme);

/// Adds a legend of all plottables that have a name above the axes, where it does not cover data.
void addLegend(QCustomPlot& plot, QCPLayoutGrid& row, const PlotTheme& theme);

/// Adds axes for points at FigureSeries::positions.
QCPAxisRect* addScatterAxes(QCPLayoutGrid& layout, int row, const Figure& figure, const PlotTheme& theme);

} // namespace secateur
