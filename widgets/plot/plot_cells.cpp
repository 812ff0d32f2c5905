#include "widgets/plot/plot_cells.h"

#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_drawing.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace secateur {

namespace {

constexpr int fewestPixelsForGroups = 6;
constexpr std::size_t mostCellsAsShapes = 50'000; ///< files of more shapes would have many megabytes

struct ColouredCell {
    QRect pixels;
    QRgb colour;
};

/// Viewers antialias the edges of shapes, so that the background shows between two cells. Therefore every cell is drawn
/// twice: first all of them slightly larger, then all of them exactly. One path per colour keeps files small.
void fillForVector(QCPPainter& painter, const std::vector<ColouredCell>& cells, double overlap) {
    for (const double margin : {overlap, 0.0}) {
        std::map<QRgb, QPainterPath> paths;
        for (const ColouredCell& cell : cells) {
            QPainterPath& path = paths[cell.colour];
            path.setFillRule(Qt::WindingFill);
            path.addRect(QRectF(cell.pixels).adjusted(-margin, -margin, margin, margin));
        }
        for (const auto& [colour, path] : paths)
            painter.fillPath(path, QColor(colour));
    }
}

/// Draws the cells as an image with the resolution of the painter.
void fillAsImage(QCPPainter& painter, const std::vector<ColouredCell>& cells) {
    QRect bounds;
    for (const ColouredCell& cell : cells)
        bounds |= cell.pixels;
    QImage image(bounds.size(), QImage::Format_ARGB32);
    image.fill(Qt::transparent);
    QPainter onImage(&image);
    for (const ColouredCell& cell : cells)
        onImage.fillRect(cell.pixels.translated(-bounds.topLeft()), QColor(cell.colour));
    onImage.end();
    painter.drawImage(bounds.topLeft(), image);
}

void fill(QCPPainter& painter, const std::vector<ColouredCell>& cells, double overlap) {
    if (isVector(painter)) {
        if (cells.size() > mostCellsAsShapes)
            fillAsImage(painter, cells);
        else
            fillForVector(painter, cells, overlap);
        return;
    }
    painter.setAntialiasing(false);
    for (const ColouredCell& cell : cells)
        painter.fillRect(cell.pixels, QColor(cell.colour));
}

/// Indices of the first and last cell that are visible on an axis. @param count number of cells
std::pair<int, int> shownTicks(const QCPAxis& axis, int count) {
    const int first = static_cast<int>(std::lround(axis.range().lower));
    const int last = static_cast<int>(std::lround(axis.range().upper));
    return {std::max(0, first), std::min(count - 1, last)};
}

QPen outlinePen(const PlotTheme& theme) {
    return theme.pen(mixed(theme.background, theme.text, 0.35), 0.6);
}

} // namespace

QRect cellPixels(const QCPAxis& columns, const QCPAxis& rows, int row, int column) {
    const auto edge = [](const QCPAxis& axis, double at) {
        return static_cast<int>(std::lround(axis.coordToPixel(at)));
    };
    const QPoint from(edge(columns, column - 0.5), edge(rows, row - 0.5));
    const QPoint to(edge(columns, column + 0.5), edge(rows, row + 0.5));
    return {from, to - QPoint(1, 1)};
}

class PlotCells::Drawing : public QCPLayerable {
public:
    Drawing(QCPAxis* columns, QCPAxis* rows)
        : QCPLayerable(columns->parentPlot(), "main", columns->axisRect())
        , m_columns(columns)
        , m_rows(rows) {
        setParent(columns->axisRect());
    }

    PlotTheme theme;
    Matrix cells;
    ColourRange range;
    std::vector<int> lengths;
    std::vector<int> groups;

protected:
    QRect clipRect() const override { return m_columns->axisRect()->rect(); }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(false); }
    void draw(QCPPainter* painter) override {
        std::vector<ColouredCell> visible;
        const auto [firstRow, lastRow] = shownTicks(*m_rows, static_cast<int>(cells.rows()));
        const auto [firstColumn, lastColumn] = shownTicks(*m_columns, static_cast<int>(cells.columns()));
        for (int row = firstRow; row <= lastRow; ++row)
            for (int column = firstColumn; column <= std::min(lastColumn, length(row) - 1); ++column)
                visible.push_back({cellPixels(*m_columns, *m_rows, row, column), colour(row, column)});
        fill(*painter, visible, theme.unit / 2);
        for (int row = firstRow; row <= lastRow; ++row)
            drawGroupEnds(*painter, row);
        drawOutline(*painter, firstRow, lastRow, firstColumn, lastColumn);
    }

private:
    int length(int row) const {
        const auto index = static_cast<std::size_t>(row);
        return index < lengths.size() ? lengths[index] : static_cast<int>(cells.columns());
    }
    /// Around the cells, whose colours at the end of a map may be close to the background's.
    void drawOutline(QCPPainter& painter, int firstRow, int lastRow, int firstColumn, int lastColumn) const {
        QRegion all;
        for (int row = firstRow; row <= lastRow; ++row)
            if (const int last = std::min(lastColumn, length(row) - 1); last >= firstColumn)
                all += cellPixels(*m_columns, *m_rows, row, firstColumn)
                           .united(cellPixels(*m_columns, *m_rows, row, last));
        QPainterPath outline;
        outline.addRegion(all);
        painter.setAntialiasing(false);
        painter.strokePath(all.rectCount() > 1 ? outline.simplified() : outline, outlinePen(theme));
    }
    QRgb colour(int row, int column) const {
        const double value = cells(static_cast<std::size_t>(row), static_cast<std::size_t>(column));
        return std::isnan(value) ? theme.absent.rgb() : range.colour(value);
    }
    void drawGroupEnds(QCPPainter& painter, int row) const {
        const auto index = static_cast<std::size_t>(row);
        const int group = index < groups.size() ? groups[index] : 0;
        for (int column = group; group > 0 && column < length(row); column += group) {
            const QRect cell = cellPixels(*m_columns, *m_rows, row, column);
            if (cell.width() >= fewestPixelsForGroups)
                painter.fillRect(QRect(cell.topLeft(), QSize(theme.length(1), cell.height())), theme.background);
        }
    }

    QCPAxis* m_columns;
    QCPAxis* m_rows;
};

PlotCells::PlotCells(QCPAxis* columns, QCPAxis* rows, const PlotTheme& theme)
    : m_drawing(new Drawing(columns, rows)) {
    m_drawing->theme = theme;
}

void PlotCells::setTheme(const PlotTheme& theme) {
    m_drawing->theme = theme;
}

void PlotCells::setCells(const Matrix& cells, const ColourRange& range) {
    m_drawing->cells = cells;
    m_drawing->range = range;
}

void PlotCells::setRows(const std::vector<int>& lengths, const std::vector<int>& groups) {
    m_drawing->lengths = lengths;
    m_drawing->groups = groups;
}

class PlotColourBar::Drawing : public QCPLayerable {
public:
    explicit Drawing(QCPAxisRect* rect)
        : QCPLayerable(rect->parentPlot(), "main", rect)
        , m_rect(rect) {
        setParent(rect);
    }

    PlotTheme theme;
    ColourRange range;
    QStringList classes;

protected:
    QRect clipRect() const override { return m_rect->outerRect(); }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(true); }
    void draw(QCPPainter* painter) override {
        if (!classes.isEmpty()) {
            drawLegend(*painter);
            return;
        }
        constexpr int steps = 256;
        const QRect bar = m_rect->rect();
        const auto edge = [&](int step) { return bar.top() + bar.height() * step / steps; };
        std::vector<ColouredCell> bands;
        for (int step = 0; step < steps; ++step) // from top to bottom
            bands.push_back({{QPoint(bar.left(), edge(step)), QPoint(bar.right(), edge(step + 1) - 1)},
                             range.colourAt((steps - step - 0.5) / steps)});
        fill(*painter, bands, theme.unit / 2);
        painter->setAntialiasing(false);
        painter->setPen(outlinePen(theme));
        painter->setBrush(Qt::NoBrush);
        painter->drawRect(bar.adjusted(0, 0, -1, -1));
        painter->setAntialiasing(true);
        const QRectF edges(bar);
        if (range.hasAbove())
            drawEnd(*painter, edges.topLeft(), edges.topRight(), -1, range.colourAt(1));
        if (range.hasBelow())
            drawEnd(*painter, edges.bottomLeft(), edges.bottomRight(), 1, range.colourAt(0));
    }

private:
    void drawLegend(QCPPainter& painter) const {
        const QRect bar = m_rect->rect();
        const QFontMetrics metrics(theme.font);
        const int side = bar.width();
        const int pitch = std::max(side, metrics.height()) + theme.length(5);
        painter.setAntialiasing(false);
        painter.setFont(theme.font);
        painter.setPen(theme.text);
        for (int i = 0; i < classes.size(); ++i) {
            const QRect swatch(bar.left(), bar.top() + i * pitch, side, side);
            painter.fillRect(swatch, QColor(range.colour(i)));
            painter.drawText(
                QRect(swatch.right() + theme.length(6), swatch.top() - pitch, bar.width() * 100, side + 2 * pitch),
                Qt::AlignLeft | Qt::AlignVCenter, classes[i]);
        }
    }

    /// Draws a triangle at an end of the bar, which says that there are values beyond this end in this colour.
    void drawEnd(QCPPainter& painter, QPointF left, QPointF right, int direction, QRgb colour) const {
        const double gap = 1.5 * theme.unit;
        const double height = 6 * theme.unit;
        left.ry() += direction * gap;
        right.ry() += direction * gap;
        const QPointF tip((left.x() + right.x()) / 2, left.y() + direction * height);
        QPainterPath path;
        path.addPolygon(QPolygonF({left, right, tip, left}));
        painter.fillPath(path, QColor(colour));
        painter.strokePath(path, outlinePen(theme)); // the colour may be nearly that of the background
    }

    QCPAxisRect* m_rect;
};

class PlotColourBar::Marker : public QCPLayerable {
public:
    explicit Marker(QCPAxis* axis)
        : QCPLayerable(axis->parentPlot(), "overlay", axis->axisRect())
        , m_axis(axis) {
        setParent(axis->axisRect());
    }

    PlotTheme theme;
    std::optional<double> value;

protected:
    QRect clipRect() const override { return m_axis->axisRect()->outerRect(); }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(false); }
    void draw(QCPPainter* painter) override {
        if (!value)
            return;
        const QRect bar = m_axis->axisRect()->rect();
        const double pixel = m_axis->coordToPixel(*value);
        const int y = std::isfinite(pixel)
                          ? static_cast<int>(std::lround(std::clamp<double>(pixel, bar.top(), bar.bottom())))
                          : (*value > m_axis->range().center() ? bar.top() : bar.bottom());
        const int beyond = theme.length(5);
        const QRect line(bar.left() - beyond, y - theme.length(1), bar.width() + 2 * beyond, theme.length(2));
        const int halo = theme.length(1);
        painter->fillRect(line.adjusted(-halo, -halo, halo, halo), theme.background);
        painter->fillRect(line, theme.text);
    }

private:
    QCPAxis* m_axis;
};

PlotColourBar::PlotColourBar(QCPLayoutGrid& layout, int row, int column, const PlotTheme& theme)
    : m_rect(addAxisRect(layout, row, column)) {
    m_rect->addAxis(QCPAxis::atRight);
    m_rect->setSizeConstraintRect(QCPLayoutElement::scrInnerRect);
    m_drawing = new Drawing(m_rect);
    m_marker = new Marker(axis());
    setTheme(theme);
}

QCPAxis* PlotColourBar::axis() const {
    return m_rect->axis(QCPAxis::atRight);
}

void PlotColourBar::setMarker(std::optional<double> value) {
    m_marker->value = value;
}

QRect PlotColourBar::pixels() const {
    return m_rect->rect();
}

bool PlotColourBar::contains(QPointF point) const {
    const int margin = m_marker->theme.length(6); // includes the triangles at the ends of the bar
    return pixels().adjusted(-margin, -margin, margin, margin).contains(point.toPoint());
}

double PlotColourBar::valueAt(double y) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const QRect bar = pixels();
    return y < bar.top() ? infinite : y > bar.bottom() ? -infinite : axis()->pixelToCoord(y);
}

void PlotColourBar::setTheme(const PlotTheme& theme) {
    m_drawing->theme = theme;
    m_marker->theme = theme;
    styleAxis(*axis(), theme);
    m_labelPadding = axis()->labelPadding();
    if (!m_drawing->classes.isEmpty())
        axis()->setLabelPadding(legendWidth(m_drawing->classes));
    axis()->setBasePen(Qt::NoPen);
    const int width = theme.length(12);
    m_rect->setMinimumSize(width, 0);
    m_rect->setMaximumSize(width, QWIDGETSIZE_MAX);
}

int PlotColourBar::legendWidth(const QStringList& names) const {
    const PlotTheme& theme = m_drawing->theme;
    int widest = 0;
    for (const QString& name : names)
        widest = std::max(widest, QFontMetrics(theme.font).horizontalAdvance(name));
    return widest + theme.length(8);
}

void PlotColourBar::setClasses(const QStringList& names, const QString& label) {
    m_drawing->range = ColourRange::ofClasses(names);
    m_drawing->classes = names;
    axis()->setTicks(false);
    axis()->setTickLabels(false);
    axis()->setLabelPadding(legendWidth(names));
    axis()->setLabel(label);
}

void PlotColourBar::setRange(const ColourRange& range, const QString& label) {
    m_drawing->range = range;
    m_drawing->classes.clear();
    axis()->setTicks(true);
    axis()->setTickLabels(true);
    axis()->setLabelPadding(m_labelPadding);
    useValueTicks(*axis(), range.isLogarithmic());
    axis()->setRange(range.lower(), range.upper());
    axis()->setLabel(label);
}

} // namespace secateur
