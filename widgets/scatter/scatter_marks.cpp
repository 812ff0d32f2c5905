#include "widgets/scatter/scatter_marks.h"

#include "widgets/plot/plot_points.h"

#include <qcustomplot.h>

#include <algorithm>
#include <map>

namespace secateur {

class ScatterMarks::Drawing : public QCPLayerable {
public:
    Drawing(QCPAxisRect* rect, const PlotTheme& colours, double width)
        : QCPLayerable(rect->parentPlot(), "overlay", rect)
        , m_rect(rect)
        , m_theme(colours)
        , m_diameter(std::max(width, 5 * colours.unit)) { // dots of many are too small for a ring
        setParent(rect);
    }

    std::optional<std::vector<Point>> passing;
    std::vector<Point> selected;
    std::optional<Point> active;
    std::optional<Point> hovered;
    QPolygonF outline;

protected:
    QRect clipRect() const override { return m_rect->rect(); }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(true); }
    void draw(QCPPainter* painter) override {
        if (passing) {
            painter->fillRect(clipRect(), m_theme.veil());
            drawRings(*painter, *passing, 0, m_theme.background);
        }
        drawRings(*painter, selected, 1.6, m_theme.accent);
        if (active)
            drawRings(*painter, {*active}, 3, m_theme.accent);
        if (hovered)
            drawRings(*painter, {*hovered}, 1.6, m_theme.text);
        if (!outline.isEmpty())
            drawLasso(*painter, outline, m_theme);
    }

private:
    static void drawAround(QCPPainter& painter, QPointF middle, const QPixmap& picture) {
        const double half = picture.deviceIndependentSize().width() / 2;
        painter.drawPixmap(middle - QPointF(half, half), picture);
    }

    /// Each with its point once more, which others may hide, and with a halo that sets it off from them.
    void drawRings(QCPPainter& painter, const std::vector<Point>& points, double line, const QColor& colour) const {
        const double ratio = painter.device()->devicePixelRatioF();
        const double width = m_diameter + 2 * line * m_theme.unit;
        const QPixmap halo = pointPicture(width + 2 * m_theme.unit, QPen(Qt::NoPen), QBrush(m_theme.background), ratio);
        std::map<std::pair<QRgb, bool>, QPixmap> pictures;
        const QRectF seen = QRectF(clipRect()).adjusted(-width, -width, width, width);
        for (const Point& point : points) {
            if (!seen.contains(point.pixel))
                continue;
            QPixmap& picture = pictures[{point.colour, point.isCut}];
            if (picture.isNull())
                picture = pointPicture(width, m_theme.pen(colour, line),
                                       point.isCut ? m_theme.background : QColor(point.colour), ratio);
            drawAround(painter, point.pixel, halo);
            drawAround(painter, point.pixel, picture);
            if (point.isCut)
                drawAround(painter, point.pixel, crossPicture(0.8 * m_diameter, point.colour, m_theme, ratio));
        }
    }

    QCPAxisRect* m_rect;
    PlotTheme m_theme;
    double m_diameter;
};

ScatterMarks::ScatterMarks(QCPAxisRect* rect, const PlotTheme& theme, double diameter)
    : m_drawing(new Drawing(rect, theme, diameter)) {}

void ScatterMarks::setPassing(std::optional<std::vector<Point>> points) {
    m_drawing->passing = std::move(points);
}

void ScatterMarks::setSelected(std::vector<Point> points) {
    m_drawing->selected = std::move(points);
}

void ScatterMarks::setActive(std::optional<Point> point) {
    m_drawing->active = point;
}

void ScatterMarks::setHovered(std::optional<Point> point) {
    m_drawing->hovered = point;
}

void ScatterMarks::setOutline(const QPolygonF& outline) {
    m_drawing->outline = outline;
}

} // namespace secateur
