#pragma once

#include "analysis/base/head_id.h"
#include "analysis/metrics/metric.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/scatter/scatter_marks.h"

#include <QPolygonF>

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace secateur {

class HeadFilter;
class MaskEditor;
class Selection;

/// One metric against another, in which heads are selected: click, Ctrl to toggle, Shift to add, drag for a rectangle,
/// Ctrl+Shift+drag for a lasso, arrows to the next point. The point of a KV group or a layer stands for its heads;
/// neurons are looked at, not selected. The wheel zooms, the middle button pans.
class ScatterPlot : public FigureWidget {
    Q_OBJECT

public:
    /// What dragging without modifiers does.
    enum class Tool { select, lasso };

    ScatterPlot(MaskEditor* masks, Selection* selection, QWidget* parent);

    /// @param figure of metricScatter() @param scope what its points are. The zoom stays while the axes are the same.
    void showFigure(Figure figure, Scope scope, const ModelSpec& spec);
    /// Points without a head that passes step back, and are not selected with others.
    void setFilter(const HeadFilter* filter);
    void setTool(Tool tool) { m_tool = tool; }
    void resetZoom();
    bool isZoomed() const { return m_view.has_value(); }
    void selectAll();
    /// Makes the point there the selection, unless it is selected: a menu will be about it.
    void selectForMenu(QPointF point);
    /// Under the pointer, here or in another view; an index in the figure's series.
    std::optional<std::size_t> hoveredPoint() const;
    /// The one that keys move from.
    std::optional<std::size_t> currentPoint() const;
    /// In pixels; of a point that is drawn.
    std::optional<QPointF> position(FigureUnit unit) const;

signals:
    /// Another point is hovered or current.
    void pointChanged();
    void toolTipRequested(const QPoint& globalPosition);
    /// A head's or KV group's point was double-clicked: the person wants to see more of it.
    void opened(secateur::HeadId head);
    /// A neuron's or layer's point was.
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

    // scatter_plot.cpp
    const FigureSeries* points() const;
    void place();
    void markFilter();
    void markSelection();
    void markHover();
    void followSelection();
    void followHover();
    void followFilter();
    std::set<HeadId> meant(const std::set<HeadId>& heads) const;
    void replotMarks();
    void setView(const View& view);
    void zoom(double factor, QPointF about);
    void pan(QPointF pixels);
    ScatterMarks::Point mark(std::size_t index) const;
    std::optional<std::size_t> pointOf(std::optional<HeadId> head) const;
    std::set<HeadId> headsOf(std::size_t index) const;
    std::set<HeadId> headsIn(const QPolygonF& outline) const;
    std::optional<std::size_t> pointAt(QPointF pixel) const;

    // scatter_plot_mouse.cpp
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
    std::map<FigureUnit, std::size_t> m_places; ///< none of neurons
    std::vector<QPointF> m_pixels;              ///< of each point
    std::vector<QRgb> m_colours;                ///< by layer
    std::optional<ScatterMarks> m_marks;        ///< absent while there are no points
    std::optional<View> m_view;                 ///< absent = everything
    double m_share = 1;                         ///< of each axis that is on screen
    std::optional<std::size_t> m_hovered;       ///< here
    std::optional<std::size_t> m_neuron;        ///< where keys move from among neurons

    Gesture m_gesture = Gesture::none;
    Qt::MouseButton m_button = Qt::NoButton; ///< that holds it
    bool m_moved = false;
    bool m_adds = false;
    std::set<HeadId> m_before;
    std::optional<HeadId> m_activeBefore;
    QPointF m_from;
    QPolygonF m_lasso;
};

} // namespace secateur
