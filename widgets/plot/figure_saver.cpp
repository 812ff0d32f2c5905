#include "analysis/base/error.h"
#include "analysis/base/replaceable.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/plot/figure_size.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_fit.h"
#include "widgets/plot/svg_outlines.h"

#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QImageWriter>
#include <QPageSize>
#include <QPdfWriter>
#include <QRandomGenerator>
#include <QSvgGenerator>

#include <qcustomplot.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>

namespace secateur {

namespace {

constexpr int pixelsPerInch = 300;
constexpr double columnCm = 8.4;
constexpr double pageCm = 17.4;

int pixels(double cm) {
    return static_cast<int>(std::lround(cm / cmPerInch * pixelsPerInch));
}

/// The figure as it is drawn.
Figure drawnFigure(const Figure& figure, const PictureForm& form) {
    Figure drawn = figure;
    if (!form.hasTitle)
        drawn.title.clear();
    return drawn;
}

void drawOn(const Figure& figure, const PictureForm& form, QCPPainter& painter) {
    const QSize size = pictureSize(figure, form);
    QCustomPlot plot;
    plot.setViewport({QPoint(), size});
    paintFigure(plot, drawnFigure(figure, form), paperTheme(pixelsPerInch));
    layOutFigure(plot);
    plot.toPainter(&painter, size.width(), size.height());
}

void draw(const Figure& figure, const PictureForm& form, QPaintDevice& device, bool vector) {
    QCPPainter painter;
    if (!painter.begin(&device))
        throw Error("cannot be drawn: there is not enough memory, or no drawing surface");
    painter.setMode(QCPPainter::pmVectorized, vector);
    painter.setMode(QCPPainter::pmNoCaching, vector);
    drawOn(figure, form, painter);
}

QString sentences(const Figure& figure) {
    QString text = QString::fromStdString(figure.caption);
    if (!figure.command.empty())
        text += (text.isEmpty() ? "" : "\n") + QString::fromStdString(figure.command);
    return text;
}

QByteArray asPng(const Figure& figure, const PictureForm& form) {
    QBuffer buffer;
    QImageWriter writer(&buffer, "png");
    writer.setText("Title", QString::fromStdString(figure.title));
    writer.setText("Description", sentences(figure));
    writer.setText("Software", "Secateur " SECATEUR_VERSION);
    if (!writer.write(figureImage(figure, form)))
        throw Error("cannot be encoded as PNG: " + writer.errorString().toStdString());
    return buffer.data();
}

QByteArray asPdf(const Figure& figure, const PictureForm& form) {
    const QSize size = pictureSize(figure, form);
    QBuffer buffer;
    buffer.open(QIODevice::WriteOnly);
    {
        QPdfWriter writer(&buffer);
        writer.setResolution(pixelsPerInch);
        const QSizeF inches(size.width() / double(pixelsPerInch), size.height() / double(pixelsPerInch));
        writer.setPageSize(QPageSize(inches, QPageSize::Inch, {}, QPageSize::ExactMatch));
        writer.setPageMargins({});
        const QString caption = sentences(figure).replace('\n', ' ');
        writer.setTitle(caption.isEmpty() ? QString::fromStdString(figure.title) : caption);
        writer.setCreator("Secateur " SECATEUR_VERSION);
        draw(figure, form, writer, true);
    }
    return buffer.data();
}

/// Checks that what exists at a path may be replaced. @throws Error
void checkOldFile(const QString& path, FileKind kind, bool force) {
    const QFileInfo info(path);
    if (info.isSymLink() && !info.exists())
        refuseDanglingLink(path.toStdString());
    QFile old(path);
    if (!info.isFile() || info.size() == 0 || !old.open(QIODevice::ReadOnly))
        return;
    const QByteArray content = old.readAll();
    checkReplaceable(path.toStdString(), {content.constData(), static_cast<std::size_t>(content.size())}, kind, force);
}

} // namespace

PictureForm::PictureForm(FigureWidth width, bool title)
    : widthCm(width == FigureWidth::column ? columnCm : pageCm)
    , hasTitle(title) {}

QSize pictureSize(const Figure& figure, const PictureForm& form) {
    return {pixels(form.widthCm), pixels(figureHeightCm(drawnFigure(figure, form), form.widthCm))};
}

void drawPicture(const Figure& figure, const PictureForm& form, QPaintDevice& device) {
    draw(figure, form, device, true);
}

QImage figureImage(const Figure& figure, const PictureForm& form) {
    QImage image(pictureSize(figure, form), QImage::Format_RGB32);
    image.fill(Qt::white);
    const int dotsPerMetre = static_cast<int>(std::lround(pixelsPerInch * 100 / cmPerInch));
    image.setDotsPerMeterX(dotsPerMetre);
    image.setDotsPerMeterY(dotsPerMetre);
    draw(figure, form, image, false);
    return image;
}

QByteArray figureSvg(const Figure& figure, const PictureForm& form) {
    const QSize size = pictureSize(figure, form);
    QBuffer buffer;
    {
        QSvgGenerator generator;
        generator.setOutputDevice(&buffer);
        generator.setResolution(pixelsPerInch);
        generator.setSize(size);
        generator.setViewBox(QRect(QPoint(), size));
        generator.setTitle(QString::fromStdString(figure.title).toHtmlEscaped()); // not escaped by Qt
        generator.setDescription(sentences(figure).toHtmlEscaped());
        draw(figure, form, generator, true);
    }
    return withOutlines(buffer.data());
}

namespace {

/// Flushes the names in a folder to the disk. Otherwise the old file could be back after a power failure.
void flushNames(const QString& folder) {
    const int descriptor = ::open(QFile::encodeName(folder).constData(), O_RDONLY | O_DIRECTORY);
    if (descriptor < 0)
        return;
    ::fsync(descriptor);
    ::close(descriptor);
}

} // namespace

void saveFigure(const Figure& figure, const QString& path, const PictureForm& form, bool force) {
    const QString extension = QFileInfo(path).suffix().toLower();
    if (extension == "png")
        writeAside(path, asPng(figure, form), force);
    else if (extension == "svg")
        writeAside(path, figureSvg(figure, form), force);
    else if (extension == "pdf")
        writeAside(path, asPdf(figure, form), force);
    else
        throw Error("pictures are written as .png, .svg or .pdf", path.toStdString());
}

void drawPictureOn(QCPPainter& painter, const Figure& figure, const PictureForm& form) {
    drawOn(figure, form, painter);
}

void writeAside(const QString& path, const QByteArray& bytes, bool force) {
    writeAside(path, bytes, figureFileKind(QFileInfo(path).suffix().toLower().toStdString()), force);
}

void writeAside(const QString& path, const QByteArray& bytes, FileKind kind, bool force) {
    checkOldFile(path, kind, force);
    const QFileInfo old(path);
    const QString target = old.exists() ? old.canonicalFilePath() : old.absoluteFilePath(); // behind a link
    const QString folder = QFileInfo(target).absolutePath();
    const quint64 number = QRandomGenerator::system()->generate64();
    QFile file(folder + QString("/.secateur-%1.tmp").arg(number, 16, 16, QChar('0')));
    const bool isWritten =
        file.open(QIODevice::WriteOnly | QIODevice::NewOnly) && file.write(bytes) == bytes.size() && file.flush();
    QString failure = isWritten ? QString() : file.errorString();
    if (old.exists())
        file.setPermissions(old.permissions());
    if (isWritten && (::fsync(file.handle()) != 0 || ::rename(QFile::encodeName(file.fileName()).constData(),
                                                              QFile::encodeName(target).constData()) != 0))
        failure = qt_error_string(errno);
    file.close();
    if (!failure.isEmpty()) {
        file.remove();
        throw Error("cannot be written: " + failure.toStdString(), path.toStdString());
    }
    flushNames(folder);
}

} // namespace secateur
