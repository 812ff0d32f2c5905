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

/// An empty plot for a widget of ours: mouse and keys pass through to the parent, and it lays itself out before it
/// draws.
QCustomPlot* addPlot(QWidget* parent);

/// Takes everything out of a plot, the axis rects too.
void clearPlot(QCustomPlot& plot);

/// Places everything for the plot's viewport. Ticks are chosen from where the axes were before, so this goes round
/// until they agree; call it before drawing whenever the size or the contents changed.
void layOut(QCustomPlot& plot);

/// An axis rect without axes.
QCPAxisRect* addAxisRect(QCPLayoutGrid& layout, int row, int column);

void styleAxis(QCPAxis& axis, const PlotTheme& theme);

/// Ticks at whole numbers: each when their labels have room, else every second, fifth, tenth...
void useIndexTicks(QCPAxis& axis, const QString& prefix);

/// A tick with its name at each whole number from 0 on; names are cut short.
void useNamedTicks(QCPAxis& axis, const std::vector<std::string>& names);

/// Ticks at round values, as many as have room; the axis becomes linear or logarithmic.
void useValueTicks(QCPAxis& axis, bool logarithmic);

} // namespace secateur
