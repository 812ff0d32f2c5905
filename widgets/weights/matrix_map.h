#pragma once

#include "widgets/plot/plot_cuts.h"
#include "widgets/weights/matrix_tile.h"

#include <QPointF>
#include <QRect>
#include <QString>
#include <QWidget>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace secateur {

/// Rows or columns of a matrix that belong to one unit: a head, a KV group or a neuron.
struct MatrixMark {
    std::int64_t from = 0;
    std::int64_t to = 0; ///< one past the last
    QString name;        ///< "H3"
    Hatch hatch = Hatch::none;
    bool isSelected = false;
};

/// One edge of a matrix: the marks along it, in order and without overlaps.
using MatrixMarks = std::vector<MatrixMark>;

/// The picture of a matrix, from the whole to single numbers. It draws tiles, which its owner lets jobs make: the tile
/// of the whole matrix, stretched, until a finer one of the part on screen is there. The wheel scrolls, with Ctrl it
/// zooms; the left or middle button pans; a double click shows everything; the arrow keys move a cursor from cell to
/// cell. Marks along the edges name the units that rows and columns belong to; a click selects a unit.
class MatrixMap : public QWidget {
    Q_OBJECT

public:
    enum class Edge { rows, columns };

    explicit MatrixMap(QWidget* parent = nullptr);

    /// Shows another matrix: no tiles, no marks, no zoom.
    /// @param rowName name of the rows along the edge: "output →"
    void setMatrix(std::int64_t rows, std::int64_t columns, const QString& rowName, const QString& columnName);
    /// Adds a tile. A tile of the whole matrix stays; the last one of a part is drawn over it.
    void setTile(std::shared_ptr<const MatrixTile> tile);
    /// Removes the tiles, because they are out of date. @param isKept whether they are drawn until others come
    void dropTiles(bool isKept);
    /// A sentence in the place of the picture; empty = the picture.
    void setReason(const QString& reason);
    /// The marks along an edge. They may be many: those that are too narrow for a name share one.
    void setMarks(Edge edge, MatrixMarks marks);
    /// Draws the whole picture hatched, because its unit is cut.
    void setHatch(Hatch hatch);
    void resetZoom();
    void zoom(double factor);

    std::int64_t rows() const { return m_rows; }
    std::int64_t columns() const { return m_columns; }
    const MatrixMarks& marks(Edge edge) const { return edge == Edge::rows ? m_rowMarks : m_columnMarks; }
    const QString& reason() const { return m_reason; }
    /// The cell under the pointer, or the one that the keys moved to.
    std::optional<MatrixCell> cursor() const { return m_cursor; }
    /// Index of the mark of a row or column; nothing if it belongs to no unit.
    std::optional<std::size_t> markAt(Edge edge, std::int64_t index) const;
    std::optional<MatrixCell> cellAt(QPointF point) const;
    /// The rectangle of a cell in the widget's coordinates, at least one pixel wide and high.
    QRect cellRect(MatrixCell cell) const;
    /// The number of a cell; nothing while no tile shows the cell alone.
    std::optional<float> valueOf(MatrixCell cell) const;
    /// The tile in front: the one whose range and blocks the picture has; null = none.
    const std::shared_ptr<const MatrixTile>& tile() const { return m_tile ? m_tile : m_whole; }
    /// The cells on screen.
    CellWindow visibleCells() const;
    /// Whether the whole matrix is on screen.
    bool showsAll() const;
    /// The height at which cells that are squares fill the width; 0 if there is no matrix.
    int heightOfSquares() const;
    /// The tile that the view lacks; nothing if those that it has are fine enough.
    std::optional<TileRequest> wantedTile() const;

signals:
    /// Another part of the matrix is on screen, or it has another size.
    void viewChanged();
    void cursorChanged();
    /// A mark was clicked, or a cell that belongs to it. @param index of the mark
    void markClicked(secateur::MatrixMap::Edge edge, std::size_t index, Qt::KeyboardModifiers modifiers);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    static constexpr int gap = 6;
    static constexpr int barWidth = 14; ///< of the colours, without their labels

    // view
    void arrange();
    /// Pixels per cell at which the whole matrix fills the area. Cells are square unless that makes the picture thin.
    QSizeF fittingScale() const;
    /// Pixels per cell at which the numbers of cells can be read.
    QSizeF largestScale() const;
    void zoomAbout(double factor, QPointF about);
    void pan(QPointF pixels);
    void settle();
    void clampView();
    void setCursorCell(std::optional<MatrixCell> cell, bool byKey);
    void reveal(MatrixCell cell);
    void moveBy(std::int64_t down, std::int64_t right);
    void click(QPointF point, Qt::KeyboardModifiers modifiers);
    void clickAt(MatrixCell cell, Qt::KeyboardModifiers modifiers);
    QRectF pixelsOf(const QRectF& cells) const;
    QRect picture() const; ///< the part of the area that the matrix covers

    // painting (matrix_map_paint.cpp)
    void paintTiles(QPainter& painter) const;
    void paintNumbers(QPainter& painter) const;
    void paintHatches(QPainter& painter, const PlotTheme& theme) const;
    void paintStrip(QPainter& painter, const PlotTheme& theme, Edge edge) const;
    void paintIndices(QPainter& painter, const PlotTheme& theme) const;
    void paintCursor(QPainter& painter, const PlotTheme& theme) const;
    void paintColourBar(QPainter& painter, const PlotTheme& theme) const;
    int widthOfIndices() const;
    int widthOfColourBar() const; ///< with gaps and labels
    int stripWidth(Edge edge) const;
    /// First and last mark on screen; the last is one past it.
    std::span<const MatrixMark> marksOnScreen(Edge edge) const;
    /// Where a mark begins and ends on screen, in pixels along its edge.
    std::pair<int, int> pixelsOf(Edge edge, const MatrixMark& mark) const;

    std::int64_t m_rows = 0;
    std::int64_t m_columns = 0;
    QString m_rowName;
    QString m_columnName;
    QString m_reason;
    MatrixMarks m_rowMarks;
    MatrixMarks m_columnMarks;
    Hatch m_hatch = Hatch::none;
    std::shared_ptr<const MatrixTile> m_whole;
    std::shared_ptr<const MatrixTile> m_tile;
    bool m_areTilesOld = false;
    QRect m_area;         ///< area of the picture in the widget, in pixels
    QSizeF m_scale{1, 1}; ///< pixels per cell
    QPointF m_first;      ///< column and row at the top left of the area
    std::optional<MatrixCell> m_cursor;
    bool m_isKeyCursor = false;
    QPointF m_pressed;
    QPointF m_lastPoint;
    bool m_isDragging = false;
};

} // namespace secateur
