#pragma once

#include "analysis/base/head_id.h"
#include "analysis/model/model_spec.h"
#include "widgets/layers/layer_marks.h"
#include "widgets/plot/figure_widget.h"

#include <optional>
#include <set>

namespace secateur {

class HeadFilter;
class MaskEditor;
class Selection;

/// A figure over the layers, in which layers are selected: click, Ctrl to toggle, Shift to extend, drag, arrow keys.
/// Selecting a layer selects its heads. Cuts of the mask are marked.
class LayersPlot : public FigureWidget {
    Q_OBJECT

public:
    /// The cuts that are marked.
    enum class Marked { everything, mlp };

    LayersPlot(MaskEditor* masks, Selection* selection, Marked marked, QWidget* parent);

    void setModel(const ModelSpec& spec);
    /// Layers without a head that passes are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The layer that is hovered in this view or in another one.
    std::optional<int> hoveredLayer() const;
    /// The layer from which keys move: that of the active head, or one without heads that was chosen in this view.
    std::optional<int> currentLayer() const { return m_current; }
    /// Layers of the selected heads, and the current one.
    std::set<int> selectedLayers() const;
    /// Selects the layer at a point, unless it is selected already, because a menu opens there.
    void selectForMenu(QPointF point);
    /// The pixel of a layer on the axis.
    QPoint position(int layer) const;
    const std::vector<LayerMark>& marks() const { return m_cuts; }

signals:
    void layerHovered();
    void currentLayerChanged();
    /// A layer was clicked, or Enter was pressed on it.
    void layerActivated(int layer);
    /// Space or Delete was pressed.
    void cutWanted();
    void marksChanged();
    void toolTipRequested(const QPoint& globalPosition);

protected:
    bool event(QEvent* event) override;
    void painted() override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void showEvent(QShowEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    class Marks;
    class Veil;

    void followFilter();
    void followSelection();
    void followMask();
    bool escape();
    void setCurrent(std::optional<int> layer);
    void followHover();
    std::optional<int> layerAt(QPointF point) const;
    void press(int layer, Qt::KeyboardModifiers modifiers);
    void selectUpTo(int layer);
    std::set<HeadId> headsOf(int from, int to) const;

    MaskEditor* m_masks;
    Selection* m_selection;
    Marked m_marked;
    const HeadFilter* m_filter = nullptr;
    Marks* m_marks = nullptr; ///< this and the next two are owned by the plot
    Veil* m_veil = nullptr;
    LayerMarks* m_cutMarks = nullptr;
    std::vector<LayerMark> m_cuts;
    ModelSpec m_spec;
    std::optional<int> m_current;
    bool m_dragging = false;
    bool m_removes = false;
    int m_anchor = 0;
    std::set<HeadId> m_before;  ///< selection that this drag adds to or removes from
    std::set<HeadId> m_restore; ///< selection that Esc restores
};

} // namespace secateur
