#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_theme.h"

#include <QImage>
#include <QString>

class QCustomPlot;

namespace secateur {

enum class FigureWidth { column, page }; ///< 8.4 cm and 17.4 cm, 8 pt text

/// Empties a plot and draws a figure in it. Used by the window, the gallery, `plot` and the report alike.
void paintFigure(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme);

/// The figure as saveFigure would write it, 300 dpi on white.
QImage figureImage(const Figure& figure, FigureWidth width);

/// Writes PNG (300 dpi), SVG or PDF by the file's extension, on white with title, caption and command inside, beside
/// its target, and renames. Needs a QApplication (offscreen will do). @throws Error
void saveFigure(const Figure& figure, const QString& path, FigureWidth width);

/// Puts bytes in a file, beside its target, and renames. @throws Error
void writeAside(const QString& path, const QByteArray& bytes);

} // namespace secateur
