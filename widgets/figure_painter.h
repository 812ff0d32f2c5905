#pragma once

#include "analysis/figure.h"

#include <QString>

class QCustomPlot;
class QWidget;

namespace secateur {

/// Colours of everything in a picture that is not data.
struct PlotTheme {
    bool dark = false; ///< exports are always light, on white
};

enum class FigureWidth { column, page }; ///< 8.4 cm and 17.4 cm, 8 pt text

/// Fills an empty plot with a figure. Used by the window, the gallery, `plot` and the report alike.
void paintFigure(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme);

/// Writes PNG (300 dpi), SVG or PDF by the file's extension, beside its target, and renames. @throws Error
void saveFigure(const Figure& figure, const QString& path, FigureWidth width);

} // namespace secateur
