#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_axes.h"

#include <QColor>
#include <QSize>
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

/// Where a figure is drawn: in the whole plot, or in a part of it.
struct PlotPlace {
    QCustomPlot& plot;
    QCPLayoutGrid& layout; ///< gets the elements of the figure
    QSize room;            ///< of the figure, in pixels
    const PlotTheme& theme;
    bool hasLegend = true;  ///< false = there is a legend for several figures
    int firstPlottable = 0; ///< the plottables of the figure begin here
};

/// Draws a figure with its title and note below what the layout has (figure_painter.cpp).
void paintPart(const PlotPlace& place, const Figure& figure);

/// Adds a grid without margins in a row of a layout.
QCPLayoutGrid* addGrid(QCPLayoutGrid& layout, int row);

/// Breaks a label between words, and long words where they end, into lines that are at most `room` pixels wide. What
/// does not fit into the lines is elided.
QString brokenLabel(const std::string& text, const QFont& font, int room, int mostLines = 3);

/// Number of lines of a label beside an upright axis: fewer in a narrow figure. @param width of the figure in pixels
int uprightLines(int width, const PlotTheme& theme);
/// Whether a figure has no room for more than its axes and one legend.
bool isNarrow(int width, const PlotTheme& theme);

/// Adds a text in a row of a layout, which gets no spare room.
void addText(QCPLayoutGrid& layout, int row, const QString& text, const PlotTheme& theme);

/// Aligns the elements beside the axes, the colour bar last, with the height of the axes.
void placeBeside(QCPLayoutGrid& layout, const std::vector<QCPAxisRect*>& rects, const PlotTheme& theme);

/// Adds the axes of a heat map in a layout: columns at the bottom, rows on the left and counted from the top.
/// @param room of the axes with their labels, in pixels
QCPAxisRect* addHeatMapAxes(QCPLayoutGrid& layout, const Figure& figure, QSize room, const PlotTheme& theme);

/// The colour of a line by its place in the palette, which repeats.
QColor lineColour(std::size_t index);

/// Sets label, scale and ticks of the axis of values, and its range: that of the figure, or one that fits the series.
void setUpValueAxis(QCPAxis& axis, const Figure& figure, bool right, const PlotPlace& place);

/// Adds a legend of the figure's plottables above its axes, where it does not cover data: one entry for each name.
void addLegend(const PlotPlace& place, QCPLayoutGrid& row);

/// Adds axes for points at FigureSeries::positions in a row of the place's layout.
QCPAxisRect* addScatterAxes(const PlotPlace& place, int row, const Figure& figure);

} // namespace secateur
