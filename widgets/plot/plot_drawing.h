#pragma once

#include "widgets/plot/plot_axes.h"

#include <QRect>

#include <utility>

class QCPAxis;
class QCPAxisRect;
class QCPPainter;
class QCustomPlot;

namespace secateur {

/// Base of what is painted in a plot beside QCustomPlot's own parts: marks and outlines over cells, points or lines.
/// The axis rect owns it: make it with new.
class PlotDrawing {
public:
    /// From bottom to top. The overlay is drawn without the rest by replotOverlay(). Within a layer, later drawings lie
    /// over earlier ones.
    enum class Layer { grid, main, overlay };
    enum class Edges { sharp, smooth };

    PlotDrawing(QCPAxisRect* rect, Layer layer, const PlotTheme& theme, Edges edges = Edges::sharp);
    virtual ~PlotDrawing() = default;
    PlotDrawing(const PlotDrawing&) = delete;
    PlotDrawing& operator=(const PlotDrawing&) = delete;

    void setTheme(const PlotTheme& theme) { m_theme = theme; }

protected:
    virtual void draw(QCPPainter& painter) = 0;
    /// The inside of the axis rect unless overridden.
    virtual QRect clipRect() const;
    const PlotTheme& theme() const { return m_theme; }
    QCPAxisRect* rect() const { return m_rect; }
    QCustomPlot* plot() const;

private:
    class Item;

    QCPAxisRect* m_rect;
    PlotTheme m_theme;
};

/// Base of what is painted over the cells of a heat map, on the overlay.
class CellsDrawing : public PlotDrawing {
public:
    CellsDrawing(QCPAxis* columns, QCPAxis* rows, const PlotTheme& theme);

protected:
    /// Pixels of the cell and of the next ones in its row.
    QRect pixels(int row, int column, int count = 1) const;
    /// First and last of the rows on screen; the first is the greater where there is none.
    std::pair<int, int> rowsOnScreen(int rowCount) const;
    QCPAxis* rows() const { return m_rows; }

private:
    QCPAxis* m_columns;
    QCPAxis* m_rows;
};

/// Draws the overlay alone. Returns false, and draws nothing, while the plot is not visible.
bool replotOverlay(QCustomPlot& plot);

} // namespace secateur
