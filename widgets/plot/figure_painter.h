#pragma once

#include "analysis/figures/figure.h"
#include "widgets/plot/plot_axes.h"

#include <QImage>
#include <QString>

class QCustomPlot;

namespace secateur {

enum class FigureWidth { column, page }; ///< 8.4 cm and 17.4 cm, with text of 8 pt

/// Clears a plot and draws a figure in it.
void paintFigure(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme);

/// The image that saveFigure() writes: 300 dpi on a white background.
QImage figureImage(const Figure& figure, FigureWidth width);

/// Writes a figure as PNG (300 dpi), SVG or PDF on a white background; the extension determines the format. Title,
/// caption and command become metadata. The file is written under another name and then renamed. Needs a QApplication,
/// for which the platform `offscreen` is enough. @throws Error
void saveFigure(const Figure& figure, const QString& path, FigureWidth width);

/// Writes bytes to a new file next to `path` and renames it to `path`. @throws Error
void writeAside(const QString& path, const QByteArray& bytes);

} // namespace secateur
