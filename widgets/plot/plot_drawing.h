#pragma once

#include "widgets/plot/plot_axes.h"

#include <QLineF>
#include <QList>
#include <QRect>

#include <utility>

class QCPAxis;
class QCPAxisRect;
class QCPPainter;
class QCustomPlot;

namespace secateur {

/// Base of drawings in a plot that QCustomPlot has no class for, such as marks and outlines over cells, points or
/// lines. The axis rect owns the drawing, so it must be created with `new`.
class PlotDrawing {
public:
    /// Layers of the plot from bottom to top. replotOverlay() redraws only the overlay. Within a layer, later drawings
    /// cover earlier ones.
    enum class Layer { grid, main, overlay };
    enum class Edges { sharp, smooth };

    PlotDrawing(QCPAxisRect* rect, Layer layer, const PlotTheme& theme, Edges edges = Edges::sharp);
    virtual ~PlotDrawing() = default;
    PlotDrawing(const PlotDrawing&) = delete;
    PlotDrawing& operator=(const PlotDrawing&) = delete;

    void setTheme(const PlotTheme& theme) { m_theme = theme; }

protected:
    virtual void draw(QCPPainter& painter) = 0;
    /// The area to draw in. By default the inside of the axis rect.
    virtual QRect clipRect() const;
    const PlotTheme& theme() const { return m_theme; }
    QCPAxisRect* rect() const { return m_rect; }
    QCustomPlot* plot() const;

private:
    class Item;

    QCPAxisRect* m_rect;
    PlotTheme m_theme;
};

/// Base of drawings over the cells of a heat map. They are on the overlay layer.
class CellsDrawing : public PlotDrawing {
public:
    CellsDrawing(QCPAxis* columns, QCPAxis* rows, const PlotTheme& theme);

protected:
    /// The rectangle of `count` cells of a row, from column `column` on, in pixels.
    QRect pixels(int row, int column, int count = 1) const;
    /// Indices of the first and last row on screen. If no row is visible, the first is greater than the last.
    std::pair<int, int> rowsOnScreen(int rowCount) const;
    QCPAxis* rows() const { return m_rows; }

private:
    QCPAxis* m_columns;
    QCPAxis* m_rows;
};

enum class Slope {
    up,  ///< lines from the lower left to the upper right
    down ///< lines from the upper left to the lower right
};

/// Diagonal lines inside a box, which continue from one box to the next. @param period distance between lines along an
/// edge of the box @param offset of the lines along that edge
QList<QLineF> diagonals(const QRectF& box, Slope slope, double period, double offset = 0);

/// Whether a painter draws vector graphics, not all formats of which can be filled with a pattern.
bool isVector(const QCPPainter& painter);

/// Draws only the overlay. Returns false, and draws nothing, while the plot is not visible.
bool replotOverlay(QCustomPlot& plot);

} // namespace secateur
