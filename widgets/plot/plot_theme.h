#pragma once

#include <QColor>
#include <QFont>
#include <QPen>

#include <vector>

class QWidget;

namespace secateur {

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
