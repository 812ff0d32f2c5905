#pragma once

#include "analysis/base/head_id.h"
#include "analysis/metrics/metric.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/plot/plot_drawing.h"

#include <QPolygonF>

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace secateur {

class HeadFilter;
class MaskEditor;
class Selection;

/// Draws over the points of a scatter: rings around the selected, active and hovered points, a translucent cover over
/// points that do not pass the filter, and the lasso or rectangle.
class ScatterMarks : public PlotDrawing {
public:
    struct Point {
        QPointF pixel;
        QRgb colour = 0;
        bool isCut = false;
    };

    ScatterMarks(QCPAxisRect* rect, const PlotTheme& theme, double diameter);

    /// Sets the points that pass the filter; the others are drawn paler. Empty = no filter.
    void setPassing(std::optional<std::vector<Point>> points) { m_passing = std::move(points); }
    void setSelected(std::vector<Point> points) { m_selected = std::move(points); }
    void setActive(std::optional<Point> point) { m_active = point; }
    void setHovered(std::optional<Point> point) { m_hovered = point; }
    void setOutline(const QPolygonF& outline) { m_outline = outline; }

protected:
    void draw(QCPPainter& painter) override;

private:
    void drawRings(QCPPainter& painter, const std::vector<Point>& points, double line, const QColor& colour) const;

    double m_diameter;
    std::optional<std::vector<Point>> m_passing;
    std::vector<Point> m_selected;
    std::optional<Point> m_active;
    std::optional<Point> m_hovered;
    QPolygonF m_outline;
};

/// A scatter of one metric against another, in which heads are selected: click, Ctrl to toggle, Shift to add, drag for
/// a rectangle, Ctrl+Shift+drag for a lasso, arrow keys for the next point. Selecting the point of a KV group or a
/// layer selects its heads. Neurons cannot be selected. The wheel zooms; the middle button pans.
class ScatterPlot : public FigureWidget {
    Q_OBJECT

public:
    /// The effect of dragging without modifier keys.
    enum class Tool { select, lasso };

    ScatterPlot(MaskEditor* masks, Selection* selection, QWidget* parent);

    /// Shows a figure and keeps the zoom if its axes are the same as before.
    /// @param figure made by metricScatter() @param scope the units of its points
    void showFigure(Figure figure, Scope scope, const ModelSpec& spec);
    /// Sets the filter. Points without a head that passes it are drawn paler, and left out when several are selected at
    /// once.
    void setFilter(const HeadFilter* filter);
    void setTool(Tool tool) { m_tool = tool; }
    void resetZoom();
    bool isZoomed() const { return m_view.has_value(); }
    void selectAll();
    /// Selects the point at a pixel, unless it is selected already. Called before a menu opens there.
    void selectForMenu(QPointF point);
    /// The point that is hovered in this view or in another, as an index in the figure's series.
    std::optional<std::size_t> hoveredPoint() const;
    /// The point from which arrow keys move.
    std::optional<std::size_t> currentPoint() const;
    /// The position of a unit's point in pixels; empty if it has none.
    std::optional<QPointF> position(FigureUnit unit) const;

signals:
    /// Emitted when the hovered or the current point changed.
    void pointChanged();
    void toolTipRequested(const QPoint& globalPosition);
    /// Emitted when the point of a head or KV group was double-clicked, or Enter was pressed on it.
    void opened(secateur::HeadId head);
    /// Emitted when the point of a neuron or layer was double-clicked, or Enter was pressed on it.
    void layerOpened(int layer);

protected:
    bool event(QEvent* event) override;
    void painted() override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    enum class Gesture { none, rectangle, lasso, pan };
    struct View {
        AxisRange x;
        AxisRange y;
    };

    // Defined in scatter_plot.cpp.
    const FigureSeries* points() const;
    void place();
    void markFilter();
    void markSelection();
    void markHover();
    void followSelection();
    void followHover();
    void followFilter();
    std::set<HeadId> passing(const std::set<HeadId>& heads) const;
    void replotMarks();
    void setView(const View& view);
    void zoom(double factor, QPointF about);
    void pan(QPointF pixels);
    ScatterMarks::Point mark(std::size_t index) const;
    std::optional<std::size_t> pointOf(std::optional<HeadId> head) const;
    std::set<HeadId> headsOf(std::size_t index) const;
    std::set<HeadId> headsIn(const QPolygonF& outline) const;
    std::optional<std::size_t> pointAt(QPointF pixel) const;

    // Defined in scatter_plot_mouse.cpp.
    void press(QPointF point, Qt::KeyboardModifiers modifiers);
    void drag(QPointF point);
    void finishGesture();
    bool escape();
    bool zoomByKey(const QKeyEvent& event);
    void moveBy(QPoint direction, bool extend);
    std::optional<std::size_t> next(QPoint direction) const;
    void choose(std::size_t index, Qt::KeyboardModifiers modifiers);
    void open(std::size_t index);
    void hover(std::optional<std::size_t> index);

    MaskEditor* m_masks;
    Selection* m_selection;
    const HeadFilter* m_filter = nullptr;
    Tool m_tool = Tool::select;
    Scope m_scope = Scope::head;
    ModelSpec m_spec;
    std::map<FigureUnit, std::size_t> m_places; ///< index of the point of each unit; empty for neurons
    std::vector<QPointF> m_pixels;              ///< position of each point
    std::vector<QRgb> m_colours;                ///< colour of each layer
    ScatterMarks* m_marks = nullptr;            ///< owned by the plot; null while there are no points
    std::optional<View> m_view;                 ///< axis ranges while zoomed; empty = the whole figure
    double m_share = 1;                         ///< visible share of each axis
    std::optional<std::size_t> m_hovered;       ///< the point that is hovered in this view
    std::optional<std::size_t> m_neuron;        ///< the neuron's point from which arrow keys move

    Gesture m_gesture = Gesture::none;
    Qt::MouseButton m_button = Qt::NoButton; ///< the button that began the drag
    bool m_moved = false;
    bool m_adds = false;
    std::set<HeadId> m_before; ///< the selection before the drag
    std::optional<HeadId> m_activeBefore;
    QPointF m_from;
    QPolygonF m_lasso;
};

} // namespace secateur
