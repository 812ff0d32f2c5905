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

/// Adds an empty plot to a widget. Mouse and keys pass through it to the parent; layOut() is called before each replot.
QCustomPlot* addPlot(QWidget* parent);

/// Removes all contents of a plot, including the axis rects.
void clearPlot(QCustomPlot& plot);

/// Lays out the plot for its viewport. Ticks depend on the previous axis positions, so this repeats until both agree.
/// To be called after a change of size or contents, before drawing.
void layOut(QCustomPlot& plot);

/// An axis rect without axes.
QCPAxisRect* addAxisRect(QCPLayoutGrid& layout, int row, int column);

void styleAxis(QCPAxis& axis, const PlotTheme& theme);

/// Sets ticks at integers: at each if the labels have room, else at every second, fifth, tenth...
void useIndexTicks(QCPAxis& axis, const QString& prefix);

/// Sets a named tick at each integer from 0; long names are elided.
void useNamedTicks(QCPAxis& axis, const std::vector<std::string>& names);
/// As useIndexTicks(), with a name in place of each number: only as many names as have room.
void useThinnedNames(QCPAxis& axis, const std::vector<std::string>& names);

/// Sets a linear or logarithmic scale, and ticks at round values, as many as have room.
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
    double unit = 1; ///< pixels per 1/96 inch, by which lengths in drawing code are multiplied

    int length(double units) const;
    QPen pen(const QColor& colour, double width = 1) const;
    /// Translucent background colour, to draw over elements that should look paler but stay readable.
    QColor veil() const;
};

/// Linear interpolation between two colours. @param share 0 = from, 1 = to
QColor mixed(const QColor& from, const QColor& to, double share);

/// The theme of a widget's colours and font, light or dark.
PlotTheme themeOf(const QWidget& widget);

/// The theme of saved pictures: black on white, with text of 8 pt.
PlotTheme paperTheme(int pixelsPerInch);

/// Colours of lines, which can be told apart with all common kinds of colour vision; the same in light and dark themes.
const std::vector<QColor>& lineColours();
/// The colour of a class, which differs from those of other classes and from the accent; "other" is grey.
QColor classColour(const QString& name, std::size_t index);

} // namespace secateur
