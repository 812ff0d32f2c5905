#pragma once

#include <QColor>
#include <QFont>
#include <QPen>

#include <vector>

class QWidget;

namespace secateur {

/// Everything in a picture that is not data: its colours, its font and how large it is drawn.
struct PlotTheme {
    QColor background;
    QColor text;
    QColor muted; ///< axes and what should step back
    QColor grid;
    QColor absent; ///< a cell without a value
    QColor accent; ///< selection, and nothing else
    QFont font;
    double unit = 1; ///< pixels to 1/96 inch: lengths in drawing code are multiples of it

    int length(double units) const;
    QPen pen(const QColor& colour, double width = 1) const;
    /// Drawn over what steps back: it stays readable.
    QColor veil() const;
};

/// A colour on the way from one to another. @param share 0 = from, 1 = to
QColor mixed(const QColor& from, const QColor& to, double share);

/// A widget's own colours and font, light or dark.
PlotTheme themeOf(const QWidget& widget);

/// Black on white, 8 pt, for a picture with so many pixels to the inch.
PlotTheme paperTheme(int pixelsPerInch);

/// Colours of lines, told apart by all common kinds of colour vision; the same on light and dark.
const std::vector<QColor>& lineColours();
/// Of cells of a class, apart from one another and from the accent; "other" is grey. @param index of the class
QColor classColour(const QString& name, std::size_t index);

} // namespace secateur
