#include "analysis/base/error.h"
#include "analysis/base/replaceable.h"
#include "widgets/plot/figure_painter.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_layer_marks.h"
#include "widgets/plot/plot_panels.h"

#include <QBuffer>
#include <QFile>
#include <QFileInfo>
#include <QImageWriter>
#include <QPageSize>
#include <QPdfWriter>
#include <QRandomGenerator>
#include <QSvgGenerator>
#include <QXmlStreamReader>
#include <QXmlStreamWriter>

#include <qcustomplot.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <functional>

namespace secateur {

namespace {

constexpr int pixelsPerInch = 300;
constexpr double cmPerInch = 2.54;
constexpr double columnCm = 8.4;
constexpr double pageCm = 17.4;

int pixels(double cm) {
    return static_cast<int>(std::lround(cm / cmPerInch * pixelsPerInch));
}

/// Length in cm of the longest name along an axis of cells with texts.
double namesCm(const FigureAxis& axis, const Figure& figure) {
    constexpr double letterCm = 0.15;
    std::size_t longest = 0;
    for (const std::string& name : axis.names)
        longest = std::max(longest, std::min<std::size_t>(name.size(), 28));
    return figure.cellTexts.empty() ? 0 : letterCm * static_cast<double>(longest);
}

/// Height of panels in cm.
double panelsCm(const Figure& figure, double widthCm) {
    constexpr double unitsPerCm = 96 / cmPerInch;
    constexpr double aroundCells = 1.2; // title, ticks
    constexpr double label = 0.5;
    std::size_t layers = 1;
    std::size_t longest = 1; // name of a column, which may stand upright
    for (const FigurePanel& panel : figure.panels) {
        layers = std::max(layers, panel.cells.rows());
        for (const std::string& name : panel.columns)
            longest = std::max(longest, name.size());
    }
    const double upright = longest > 4 ? 0.15 * static_cast<double>(longest) : 0;
    const double cells = std::clamp(0.32 * static_cast<double>(layers), 1.6, 4.0);
    const int rows = panelGrid(figure.panels.size(), widthCm * unitsPerCm).rows;
    return rows * (cells + aroundCells + upright) + label + (figure.title.empty() ? 0 : 0.5);
}

/// Height of a heat map in cm. Cells are square unless the page limits the height. Includes room for labels of 8 pt.
double heatMapCm(const Figure& figure, double widthCm) {
    const double besideCells = (figure.rowBars ? 4.4 : 2.9) + namesCm(figure.y, figure); // labels, bars, colour bar
    const double aboveAndBelow = 1.7 + namesCm(figure.x, figure);
    constexpr double tallestCell = 0.8;
    const double rows = std::max(1.0, static_cast<double>(figure.cells.rows()));
    const double columns = std::max(1.0, static_cast<double>(figure.cells.columns()));
    const double cell = std::min((widthCm - besideCells) / columns, tallestCell);
    const double tallest = widthCm == columnCm ? 10.0 : 13.0;
    return std::clamp(rows * cell, 2.2, tallest) + aboveAndBelow;
}

/// Extra height of the legend in cm at column width, if each entry needs about one row.
double legendCm(const Figure& figure) {
    constexpr double rowCm = 0.34;
    constexpr std::size_t usual = 2;
    const std::size_t notes = estimatesIn(figure).empty() ? 0 : 2;
    const std::size_t marks = figure.mask ? entriesOf(layerMarks(*figure.mask, nullptr, true)).size() : 0;
    if (figure.kind == FigureKind::curves)
        return figure.series.size() > 2 * usual ? rowCm * static_cast<double>(figure.series.size() / 2 - usual) : 0;
    const std::size_t rows = figure.kind == FigureKind::series  ? figure.series.size() + notes + marks
                             : figure.kind == FigureKind::bands ? usual + marks
                                                                : 0;
    return rows > usual ? rowCm * static_cast<double>(rows - usual) : 0;
}

QSize sizeOf(const Figure& figure, FigureWidth width) {
    const double cm = width == FigureWidth::column ? columnCm : pageCm;
    if (figure.kind == FigureKind::heatMap)
        return {pixels(cm), pixels(heatMapCm(figure, cm))};
    if (figure.kind == FigureKind::panels)
        return {pixels(cm), pixels(panelsCm(figure, cm))};
    return {pixels(cm), pixels(width == FigureWidth::column ? 6.0 + legendCm(figure) : 7.6)};
}

void drawOn(const Figure& figure, const QSize& size, QCPPainter& painter) {
    QCustomPlot plot;
    plot.setViewport({QPoint(), size});
    paintFigure(plot, figure, paperTheme(pixelsPerInch));
    layOut(plot);
    plot.toPainter(&painter, size.width(), size.height());
}

void draw(const Figure& figure, const QSize& size, QPaintDevice& device, bool vector) {
    QCPPainter painter;
    if (!painter.begin(&device))
        throw Error("cannot be drawn: there is not enough memory, or no drawing surface");
    painter.setMode(QCPPainter::pmVectorized, vector);
    drawOn(figure, size, painter);
}

QString sentences(const Figure& figure) {
    QString text = QString::fromStdString(figure.caption);
    if (!figure.command.empty())
        text += (text.isEmpty() ? "" : "\n") + QString::fromStdString(figure.command);
    return text;
}

QByteArray asPng(const Figure& figure, FigureWidth width) {
    QBuffer buffer;
    QImageWriter writer(&buffer, "png");
    writer.setText("Title", QString::fromStdString(figure.title));
    writer.setText("Description", sentences(figure));
    writer.setText("Software", "Secateur " SECATEUR_VERSION);
    if (!writer.write(figureImage(figure, width)))
        throw Error("cannot be encoded as PNG: " + writer.errorString().toStdString());
    return buffer.data();
}

QByteArray asPdf(const Figure& figure, FigureWidth width) {
    const QSize size = sizeOf(figure, width);
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
        draw(figure, size, writer, true);
    }
    return buffer.data();
}

/// Adds fallback font families and the laid-out width to each text of an SVG, for machines that lack the font. Texts
/// are not converted to paths, so that they can be searched and edited.
QByteArray withPortableText(const QByteArray& svg) {
    const QFont font = paperTheme(pixelsPerInch).font;
    QByteArray result;
    QXmlStreamReader reader(svg);
    reader.setNamespaceProcessing(false); // the writer would put a prefix before each name
    QXmlStreamWriter writer(&result);
    while (!reader.atEnd()) {
        reader.readNext();
        if (!reader.isStartElement() || reader.name() != QLatin1String("text")) {
            writer.writeCurrentToken(reader);
            continue;
        }
        QXmlStreamAttributes attributes;
        for (const QXmlStreamAttribute& attribute : reader.attributes())
            if (attribute.name() != QLatin1String("font-family"))
                attributes.append(attribute);
        const QString text = reader.readElementText();
        const double width = QFontMetricsF(font).horizontalAdvance(text.trimmed());
        attributes.append("font-family", QString("'%1', Arial, Helvetica, sans-serif").arg(font.family()));
        if (width > 0)
            attributes.append("textLength", QString::number(width, 'f', 1));
        writer.writeStartElement("text");
        writer.writeAttributes(attributes);
        writer.writeCharacters(text.trimmed());
        writer.writeEndElement();
    }
    return result;
}

QByteArray asSvg(const Figure& figure, FigureWidth width) {
    const QSize size = sizeOf(figure, width);
    QBuffer buffer;
    {
        QSvgGenerator generator;
        generator.setOutputDevice(&buffer);
        generator.setResolution(pixelsPerInch);
        generator.setSize(size);
        generator.setViewBox(QRect(QPoint(), size));
        generator.setTitle(QString::fromStdString(figure.title).toHtmlEscaped()); // not escaped by Qt
        generator.setDescription(sentences(figure).toHtmlEscaped());
        draw(figure, size, generator, true);
    }
    return withPortableText(buffer.data());
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

QImage figureImage(const Figure& figure, FigureWidth width) {
    QImage image(sizeOf(figure, width), QImage::Format_RGB32);
    image.fill(Qt::white);
    const int dotsPerMetre = static_cast<int>(std::lround(pixelsPerInch * 100 / cmPerInch));
    image.setDotsPerMeterX(dotsPerMetre);
    image.setDotsPerMeterY(dotsPerMetre);
    draw(figure, image.size(), image, false);
    return image;
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

void saveFigure(const Figure& figure, const QString& path, FigureWidth width, bool force) {
    const QString extension = QFileInfo(path).suffix().toLower();
    if (extension == "png")
        writeAside(path, asPng(figure, width), force);
    else if (extension == "svg")
        writeAside(path, asSvg(figure, width), force);
    else if (extension == "pdf")
        writeAside(path, asPdf(figure, width), force);
    else
        throw Error("pictures are written as .png, .svg or .pdf", path.toStdString());
}

QSize figureSize(const Figure& figure, FigureWidth width) {
    return sizeOf(figure, width);
}

QByteArray figureSvg(const Figure& figure, FigureWidth width) {
    return asSvg(figure, width);
}

void drawFigureOn(QCPPainter& painter, const Figure& figure, FigureWidth width) {
    drawOn(figure, sizeOf(figure, width), painter);
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
    const bool isWritten = file.open(QIODevice::WriteOnly | QIODevice::NewOnly) && file.write(bytes) == bytes.size() &&
                           file.flush();
    QString failure = isWritten ? QString() : file.errorString();
    if (old.exists())
        file.setPermissions(old.permissions());
    if (isWritten && (::fsync(file.handle()) != 0 ||
                      ::rename(QFile::encodeName(file.fileName()).constData(), QFile::encodeName(target).constData()) != 0))
        failure = qt_error_string(errno);
    file.close();
    if (!failure.isEmpty()) {
        file.remove();
        throw Error("cannot be written: " + failure.toStdString(), path.toStdString());
    }
    flushNames(folder);
}

} // namespace secateur
