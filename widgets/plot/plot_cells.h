#pragma once

#include "analysis/base/matrix.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_scale.h"

#include <QPointF>
#include <QRect>
#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

class QCPAxis;
class QCPAxisRect;
class QCPLayoutGrid;

namespace secateur {

/// The rectangle of a cell in pixels, rounded so that there is no gap between neighbouring cells.
QRect cellPixels(const QCPAxis& columns, const QCPAxis& rows, int row, int column);

/// Draws the cells of a matrix as rectangles, which are sharp at every zoom and in vector graphics. The axis rect owns
/// the drawing; this object only refers to it.
class PlotCells {
public:
    PlotCells(QCPAxis* columns, QCPAxis* rows, const PlotTheme& theme);

    void setTheme(const PlotTheme& theme);
    /// Cell (row, column) extends from column - 1/2 to column + 1/2 on the axis.
    void setCells(const Matrix& cells, const ColourRange& range);
    /// Sets the rows, which may differ in length. @param lengths number of cells in each row
    /// @param groups number of cells per group in each row; 0 = no groups
    void setRows(const std::vector<int>& lengths, const std::vector<int>& groups);

private:
    class Drawing;
    Drawing* m_drawing;
};

/// The colour bar of a heat map. It is a separate axis rect with an axis on the right.
class PlotColourBar {
public:
    PlotColourBar(QCPLayoutGrid& layout, int row, int column, const PlotTheme& theme);

    QCPAxisRect* rect() const { return m_rect; }
    QCPAxis* axis() const;
    void setTheme(const PlotTheme& theme);
    void setRange(const ColourRange& range, const QString& label);
    /// Shows a legend of classes instead of the bar.
    void setClasses(const QStringList& names, const QString& label);
    /// Width in pixels that the names of classes need beside the bar.
    int legendWidth(const QStringList& names) const;
    /// Draws a line across the bar at a value, on the overlay layer. Values beyond the ends are marked at the end.
    void setMarker(std::optional<double> value);

    QRect pixels() const;
    /// Whether a point is on the bar or within a few pixels of it.
    bool contains(QPointF point) const;
    /// The value at a height of the bar. @param y in pixels @returns infinity beyond the ends
    double valueAt(double y) const;

private:
    class Drawing;
    class Marker;
    QCPAxisRect* m_rect;
    Drawing* m_drawing;
    Marker* m_marker;
    int m_labelPadding = 0; ///< padding of the bar's label if no legend is shown
};

} // namespace secateur
