#pragma once

#include <string>
#include <vector>

class QCPAxis;
class QCPAxisRect;
class QCPLayoutGrid;
class QCustomPlot;
class QString;
class QWidget;

namespace secateur {

struct PlotTheme;

/// An empty plot: mouse and keys pass through to the parent, and layOut() is called before each replot.
QCustomPlot* addPlot(QWidget* parent);

/// Removes all contents of a plot, including the axis rects.
void clearPlot(QCustomPlot& plot);

/// Lays out the plot for its viewport. Ticks depend on the previous axis positions, so this iterates until they agree.
/// Call it before drawing after a change of size or contents.
void layOut(QCustomPlot& plot);

/// An axis rect without axes.
QCPAxisRect* addAxisRect(QCPLayoutGrid& layout, int row, int column);

void styleAxis(QCPAxis& axis, const PlotTheme& theme);

/// Ticks at integers: every one if the labels have room, else every second, fifth, tenth...
void useIndexTicks(QCPAxis& axis, const QString& prefix);

/// A named tick at each integer from 0; long names are elided.
void useNamedTicks(QCPAxis& axis, const std::vector<std::string>& names);

/// Sets the scale type, with ticks at round values, as many as have room.
void useValueTicks(QCPAxis& axis, bool logarithmic);

} // namespace secateur
