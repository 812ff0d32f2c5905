#pragma once

#include "analysis/base/replaceable.h"
#include "analysis/figures/figure.h"
#include "widgets/plot/plot_axes.h"

#include <QByteArray>
#include <QImage>
#include <QSize>
#include <QString>

class QCPPainter;
class QCustomPlot;

namespace secateur {

enum class FigureWidth { column, page }; ///< 8.4 cm and 17.4 cm, with text of 8 pt

/// Clears a plot and draws a figure in it.
void paintFigure(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme);

/// The image that saveFigure() writes: 300 dpi on a white background.
QImage figureImage(const Figure& figure, FigureWidth width);

/// The size of a figure on paper in units of 1/300 inch.
QSize figureSize(const Figure& figure, FigureWidth width);

/// The SVG that saveFigure() writes.
QByteArray figureSvg(const Figure& figure, FigureWidth width);

/// Draws a figure at the origin of a painter, whose unit is 1/300 inch, for a page with several figures.
void drawFigureOn(QCPPainter& painter, const Figure& figure, FigureWidth width);

/// Writes PNG (300 dpi), SVG or PDF, by the extension, on white, with title, caption and command as metadata. Writes a
/// file beside the path and renames it. Needs a QApplication (offscreen is enough).
/// @param force whether to replace a file of another kind (analysis/base/replaceable.h) @throws Error
void saveFigure(const Figure& figure, const QString& path, FigureWidth width, bool force = false);

/// Writes a figure's file, whose extension names its kind, beside the path and renames it. @throws Error
void writeAside(const QString& path, const QByteArray& bytes, bool force = false);
/// Writes a file of any kind beside the path and renames it. @throws Error
void writeAside(const QString& path, const QByteArray& bytes, FileKind kind, bool force);

} // namespace secateur
