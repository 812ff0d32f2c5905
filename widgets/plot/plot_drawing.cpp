#include "widgets/plot/plot_drawing.h"

#include "widgets/plot/plot_cells.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace secateur {

/// The object that QCustomPlot calls to draw.
class PlotDrawing::Item : public QCPLayerable {
public:
    Item(PlotDrawing* drawing, const QString& layer, Edges edges)
        : QCPLayerable(drawing->plot(), layer, drawing->rect())
        , m_drawing(drawing)
        , m_edges(edges) {
        setParent(drawing->rect());
    }

protected:
    QRect clipRect() const override { return m_drawing->clipRect(); }
    void applyDefaultAntialiasingHint(QCPPainter* painter) const override {
        painter->setAntialiasing(m_edges == Edges::smooth);
    }
    void draw(QCPPainter* painter) override { m_drawing->draw(*painter); }

private:
    std::unique_ptr<PlotDrawing> m_drawing;
    Edges m_edges;
};

PlotDrawing::PlotDrawing(QCPAxisRect* rect, Layer layer, const PlotTheme& theme, Edges edges)
    : m_rect(rect)
    , m_theme(theme) {
    new Item(this, layer == Layer::grid ? "grid" : layer == Layer::main ? "main" : "overlay", edges);
}

QRect PlotDrawing::clipRect() const {
    return m_rect->rect();
}

QCustomPlot* PlotDrawing::plot() const {
    return m_rect->parentPlot();
}

CellsDrawing::CellsDrawing(QCPAxis* columns, QCPAxis* rows, const PlotTheme& theme)
    : PlotDrawing(columns->axisRect(), Layer::overlay, theme)
    , m_columns(columns)
    , m_rows(rows) {}

QRect CellsDrawing::pixels(int row, int column, int count) const {
    const QRect first = cellPixels(*m_columns, *m_rows, row, column);
    return count == 1 ? first : first.united(cellPixels(*m_columns, *m_rows, row, column + count - 1));
}

std::pair<int, int> CellsDrawing::rowsOnScreen(int rowCount) const {
    const int first = static_cast<int>(std::lround(m_rows->range().lower));
    const int last = static_cast<int>(std::lround(m_rows->range().upper));
    return {std::max(0, first), std::min(rowCount - 1, last)};
}

QList<QLineF> diagonals(const QRectF& box, Slope slope, double period, double offset) {
    const double sign = slope == Slope::up ? 1 : -1; // the lines are x + sign * y = constant
    const double atTop = sign * box.top();
    const double atBottom = sign * box.bottom();
    const double least = box.left() + std::min(atTop, atBottom);
    const double greatest = box.right() + std::max(atTop, atBottom);
    QList<QLineF> lines;
    for (double sum = std::ceil((least - offset) / period) * period + offset; sum < greatest; sum += period) {
        const double from = std::max(box.left(), sum - std::max(atTop, atBottom));
        const double to = std::min(box.right(), sum - std::min(atTop, atBottom));
        if (from < to)
            lines << QLineF(from, sign * (sum - from), to, sign * (sum - to));
    }
    return lines;
}

bool isVector(const QCPPainter& painter) {
    return painter.modes().testFlag(QCPPainter::pmVectorized);
}

bool replotOverlay(QCustomPlot& plot) {
    if (!plot.isVisible())
        return false;
    plot.layer("overlay")->replot();
    return true;
}

} // namespace secateur
