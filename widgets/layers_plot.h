#pragma once

#include "analysis/head_id.h"
#include "analysis/model_spec.h"
#include "widgets/figure_widget.h"

#include <optional>
#include <set>

namespace secateur {

class Selection;

/// A figure over the layers, in which they are selected: click, Ctrl to toggle, Shift to extend, drag, arrows. A
/// selected layer stands for its heads.
class LayersPlot : public FigureWidget {
    Q_OBJECT

public:
    LayersPlot(Selection* selection, QWidget* parent);

    void setModel(const ModelSpec& spec);
    std::optional<int> hoveredLayer() const { return m_hovered; }
    /// The one that keys move from: the active head's, or one without heads that was chosen here.
    std::optional<int> currentLayer() const { return m_current; }
    /// The middle of a layer on the axis.
    QPoint position(int layer) const;

signals:
    void layerHovered();
    void currentLayerChanged();
    /// Clicked, or Enter pressed on it.
    void layerActivated(int layer);
    void toolTipRequested(const QPoint& globalPosition);

protected:
    bool event(QEvent* event) override;
    void painted() override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    class Marks;

    void followSelection();
    void setCurrent(std::optional<int> layer);
    void hover(std::optional<int> layer);
    std::optional<int> layerAt(QPointF point) const;
    void press(int layer, Qt::KeyboardModifiers modifiers);
    void selectUpTo(int layer);
    std::set<HeadId> headsOf(int from, int to) const;

    Selection* m_selection;
    Marks* m_marks = nullptr; ///< belongs to the plot
    ModelSpec m_spec;
    std::optional<int> m_hovered;
    std::optional<int> m_current;
    bool m_dragging = false;
    bool m_removes = false;
    int m_anchor = 0;
    std::set<HeadId> m_before;  ///< kept by this drag
    std::set<HeadId> m_restore; ///< what Esc brings back
};

} // namespace secateur
