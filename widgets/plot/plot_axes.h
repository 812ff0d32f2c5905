#pragma once

#include <QColor>
#include <QFont>
#include <QPen>

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

/// Colours, font and size of a picture.
struct PlotTheme {
    QColor background;
    QColor text;
    QColor muted; ///< axes and secondary elements
    QColor grid;
    QColor absent; ///< a cell without a value
    QColor accent; ///< of the selection only
    QFont font;
    double unit = 1; ///< pixels to 1/96 inch: lengths in drawing code are multiples of it

    int length(double units) const;
    QPen pen(const QColor& colour, double width = 1) const;
    /// Translucent background colour, drawn over dimmed elements, which stay readable.
    QColor veil() const;
};

/// Linear interpolation between two colours. @param share 0 = from, 1 = to
QColor mixed(const QColor& from, const QColor& to, double share);

/// A widget's own colours and font, light or dark.
PlotTheme themeOf(const QWidget& widget);

/// Black on white, 8 pt, for pictures of this resolution.
PlotTheme paperTheme(int pixelsPerInch);

/// Colours of lines, distinguishable with all common kinds of colour vision; the same on light and dark themes.
const std::vector<QColor>& lineColours();
/// Colour of a class, distinct from other classes and from the accent; "other" is grey.
QColor classColour(const QString& name, std::size_t index);

} // namespace secateur
