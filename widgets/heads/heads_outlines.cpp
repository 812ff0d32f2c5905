#include "widgets/heads/heads_outlines.h"

#include "widgets/plot/plot_cells.h"
#include "widgets/plot/plot_points.h"

#include <qcustomplot.h>

#include <utility>

namespace secateur {

class HeadsOutlines::Drawing : public QCPLayerable {
public:
    Drawing(QCPAxis* columns, QCPAxis* rows)
        : QCPLayerable(columns->parentPlot(), "overlay", columns->axisRect())
        , m_columns(columns)
        , m_rows(rows) {
        setParent(columns->axisRect());
    }

    PlotTheme theme;
    std::set<HeadId> heads;
    std::optional<HeadId> active;
    std::optional<HeadId> hovered;
    int activeCount = 1;
    int hoveredCount = 1;
    QPolygonF lasso;
    std::vector<std::vector<bool>> passing;

protected:
    QRect clipRect() const override {
        const int line = theme.length(3); // lines stand half outside of the outermost cells
        return m_columns->axisRect()->rect().adjusted(-line, -line, line, line);
    }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override { painter->setAntialiasing(false); }
    void draw(QCPPainter* painter) override {
        drawVeil(*painter);
        drawContour(*painter);
        if (hovered)
            drawFrame(*painter, pixels(*hovered, hoveredCount), 1, theme.text);
        if (active)
            drawFrame(*painter, pixels(*active, activeCount), 3, theme.accent);
        if (!lasso.isEmpty())
            drawLasso(*painter, lasso, theme);
    }

private:
    QRect pixels(HeadId head, int count = 1) const {
        return cellPixels(*m_columns, *m_rows, head.layer, head.head)
            .united(cellPixels(*m_columns, *m_rows, head.layer, head.head + count - 1));
    }

    /// The edges between selected and other cells.
    std::vector<QRect> contour() const {
        std::vector<QRect> edges;
        const QRect shown = clipRect();
        for (const HeadId& head : heads) {
            const QRect cell = pixels(head);
            if (!cell.intersects(shown))
                continue;
            const auto other = [&](int down, int across) {
                return !heads.contains({head.layer + down, head.head + across});
            };
            const int right = cell.right() + 1;
            const int bottom = cell.bottom() + 1;
            if (other(-1, 0))
                edges.emplace_back(cell.left(), cell.top(), cell.width(), 0);
            if (other(1, 0))
                edges.emplace_back(cell.left(), bottom, cell.width(), 0);
            if (other(0, -1))
                edges.emplace_back(cell.left(), cell.top(), 0, cell.height());
            if (other(0, 1))
                edges.emplace_back(right, cell.top(), 0, cell.height());
        }
        return edges;
    }

    void drawVeil(QCPPainter& painter) const {
        const QRect shown = m_columns->axisRect()->rect();
        const QColor veil = theme.veil();
        for (std::size_t layer = 0; layer < passing.size(); ++layer)
            for (std::size_t head = 0; head < passing[layer].size(); ++head)
                if (!passing[layer][head])
                    painter.fillRect(pixels({static_cast<int>(layer), static_cast<int>(head)}) & shown, veil);
    }

    /// Every line lies on one of the background's colour, so that it is seen on any colour of the map.
    void drawContour(QCPPainter& painter) const {
        const std::vector<QRect> edges = contour();
        for (const auto& [width, colour] :
             {std::pair(theme.length(2), theme.background), {theme.length(1), theme.accent}})
            for (const QRect& edge : edges)
                painter.fillRect(edge.adjusted(-width, -width, width, width), colour);
    }

    void drawFrame(QCPPainter& painter, const QRect& cell, int width, const QColor& colour) const {
        const auto ring = [&](int outside, int inside, const QColor& with) {
            const QRect outer = cell.adjusted(-outside, -outside, outside, outside);
            const QRect inner = cell.adjusted(inside, inside, -inside, -inside);
            painter.fillRect(QRect(outer.topLeft(), QPoint(outer.right(), inner.top() - 1)), with);
            painter.fillRect(QRect(QPoint(outer.left(), inner.bottom() + 1), outer.bottomRight()), with);
            painter.fillRect(QRect(QPoint(outer.left(), inner.top()), QPoint(inner.left() - 1, inner.bottom())), with);
            painter.fillRect(QRect(QPoint(inner.right() + 1, inner.top()), QPoint(outer.right(), inner.bottom())),
                             with);
        };
        const int line = theme.length(width);
        const int halo = theme.length(1);
        const bool roomy = std::min(cell.width(), cell.height()) > 2 * (line + 2 * halo);
        const int inside = roomy ? line - halo : 0;
        ring(2 * halo, roomy ? inside + halo : 0, theme.background);
        ring(halo, inside, colour);
    }

    QCPAxis* m_columns;
    QCPAxis* m_rows;
};

HeadsOutlines::HeadsOutlines(QCPAxis* columns, QCPAxis* rows, const PlotTheme& theme)
    : m_drawing(new Drawing(columns, rows)) {
    m_drawing->theme = theme;
}

void HeadsOutlines::setTheme(const PlotTheme& theme) {
    m_drawing->theme = theme;
}

void HeadsOutlines::setSelected(const std::set<HeadId>& heads) {
    m_drawing->heads = heads;
}

void HeadsOutlines::setActive(std::optional<HeadId> head, int count) {
    m_drawing->active = head;
    m_drawing->activeCount = count;
}

void HeadsOutlines::setHovered(std::optional<HeadId> head, int count) {
    m_drawing->hovered = head;
    m_drawing->hoveredCount = count;
}

void HeadsOutlines::setPassing(const std::vector<std::vector<bool>>& passing) {
    m_drawing->passing = passing;
}

void HeadsOutlines::setLasso(const QPolygonF& lasso) {
    m_drawing->lasso = lasso;
}

} // namespace secateur
