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

struct AxisTick;
struct PlotTheme;

/// Adds an empty plot to a widget. Mouse and key events go to the parent. layOut() is called before each replot.
QCustomPlot* addPlot(QWidget* parent);

/// Removes all contents of a plot, including the axis rects.
void clearPlot(QCustomPlot& plot);

/// Computes the layout of a plot for its viewport. Ticks and axis positions depend on each other, so the layout is
/// computed several times. Call it after a change of size or contents, before drawing.
void layOut(QCustomPlot& plot);

/// Adds an axis rect that has no axes yet.
QCPAxisRect* addAxisRect(QCPLayoutGrid& layout, int row, int column);

void styleAxis(QCPAxis& axis, const PlotTheme& theme);

/// Sets ticks at integers: at every integer if the labels fit, otherwise at every second, fifth, tenth and so on.
void useIndexTicks(QCPAxis& axis, const QString& prefix);

/// Sets a named tick at each integer from 0, or at fewer where they would touch.
/// @param longest width in pixels at which names are elided
void useNamedTicks(QCPAxis& axis, const std::vector<std::string>& names, int longest);

/// Sets named ticks at places of the axis; where their names would touch, the later ones have none.
/// @param longest width in pixels at which names are elided
void useFixedTicks(QCPAxis& axis, const std::vector<AxisTick>& ticks, int longest);

/// Sets a linear or logarithmic scale with ticks at round values. The number of ticks depends on the room for labels.
/// @param wholeNumbers whether a linear scale has ticks at whole numbers only
void useValueTicks(QCPAxis& axis, bool logarithmic, bool wholeNumbers = false);

/// Colours, font and size of a plot.
struct PlotTheme {
    QColor background;
    QColor text;
    QColor muted; ///< axes and secondary elements
    QColor grid;
    QColor absent; ///< a cell without a value
    QColor accent; ///< for the selection only
    QFont font;
    double unit = 1; ///< pixels per 1/96 inch; drawing code multiplies lengths by it

    int length(double units) const;
    QPen pen(const QColor& colour, double width = 1) const;
    /// The background colour, translucent. It is drawn over elements that should look paler but stay readable.
    QColor veil() const;
};

/// Linear interpolation between two colours. @param share 0 = `from`, 1 = `to`
QColor mixed(const QColor& from, const QColor& to, double share);

/// The theme of a widget's colours and font, light or dark.
PlotTheme themeOf(const QWidget& widget);

/// The theme of saved pictures: black on white, with text of 8 pt.
PlotTheme paperTheme(int pixelsPerInch);

/// Colours of lines, which common kinds of colour blindness can tell apart. They are the same in light and dark themes.
const std::vector<QColor>& lineColours();
/// The colour of a class. It differs from the colours of other classes and from the accent; the class "other" is grey.
QColor classColour(const QString& name, std::size_t index);

} // namespace secateur
