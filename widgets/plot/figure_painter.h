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
class QPaintDevice;

namespace secateur {

enum class FigureWidth { column, page }; ///< 8.4 cm and 17.4 cm, with text of 8 pt

/// The form of a saved picture.
struct PictureForm {
    PictureForm(FigureWidth width, bool hasTitle = false);

    double widthCm;
    bool hasTitle; ///< whether the title is drawn; otherwise it is in the metadata only
};

/// Clears a plot and draws a figure in it.
void paintFigure(QCustomPlot& plot, const Figure& figure, const PlotTheme& theme);

/// The image that saveFigure() writes: 300 dpi on a white background.
QImage figureImage(const Figure& figure, const PictureForm& form);
/// The SVG that saveFigure() writes. Texts are outlines, so that it looks alike without the font; each has its text as
/// `aria-label`.
QByteArray figureSvg(const Figure& figure, const PictureForm& form);
/// Size of a saved picture in pixels of 1/300 inch.
QSize pictureSize(const Figure& figure, const PictureForm& form);
/// Draws a picture in this size on a device, with vectors where it has them.
void drawPicture(const Figure& figure, const PictureForm& form, QPaintDevice& device);

/// Draws a picture at the origin of a painter, whose unit is 1/300 inch, for a page with several of them.
void drawPictureOn(QCPPainter& painter, const Figure& figure, const PictureForm& form);

/// Writes PNG (300 dpi), SVG or PDF, by the extension, on white, with title, caption and command as metadata. Writes a
/// file beside the path and renames it. Needs a QApplication (offscreen is enough).
/// @param force whether to replace a file of another kind (analysis/base/replaceable.h) @throws Error
void saveFigure(const Figure& figure, const QString& path, const PictureForm& form, bool force = false);

/// Writes a figure's file, whose extension names its kind, beside the path and renames it. @throws Error
void writeAside(const QString& path, const QByteArray& bytes, bool force = false);
/// Writes a file of any kind beside the path and renames it. @throws Error
void writeAside(const QString& path, const QByteArray& bytes, FileKind kind, bool force);

} // namespace secateur
