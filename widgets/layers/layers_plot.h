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

/// A figure over the layers, in which layers are selected by click, Ctrl to toggle, Shift to extend, drag, or arrow
/// keys. Selecting a layer selects its heads. The cuts of the mask are marked.
class LayersPlot : public FigureWidget {
    Q_OBJECT

public:
    /// The cuts that are marked.
    enum class Marked { everything, mlp };

    LayersPlot(MaskEditor* masks, Selection* selection, Marked marked, QWidget* parent);

    void setModel(const ModelSpec& spec);
    /// Sets the filter. Layers without a head that passes it are drawn paler.
    void setFilter(const HeadFilter* filter);
    /// The layer that is hovered in this view or in another view.
    std::optional<int> hoveredLayer() const;
    /// The layer from which arrow keys move: the layer of the active head, or a layer without heads that was chosen in
    /// this view.
    std::optional<int> currentLayer() const { return m_current; }
    /// The layers of the selected heads, and the current layer.
    std::set<int> selectedLayers() const;
    /// Selects the layer at a point, unless it is selected already. Called before a menu opens there.
    void selectForMenu(QPointF point);
    /// The point of a layer on the axis, in the widget's coordinates.
    QPoint position(int layer) const;
    const std::vector<LayerMark>& marks() const { return m_cuts; }

signals:
    void layerHovered();
    void currentLayerChanged();
    /// Emitted when a layer was clicked, or Enter was pressed on it.
    void layerActivated(int layer);
    /// Emitted when Space or Delete was pressed.
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
    Marks* m_marks = nullptr; ///< owned by the plot, as are the next two
    Veil* m_veil = nullptr;
    LayerMarks* m_cutMarks = nullptr;
    std::vector<LayerMark> m_cuts;
    ModelSpec m_spec;
    std::optional<int> m_current;
    bool m_dragging = false;
    bool m_removes = false;
    int m_anchor = 0;
    std::set<HeadId> m_before;  ///< the selection that the current drag adds to or removes from
    std::set<HeadId> m_restore; ///< the selection that Esc restores
};

} // namespace secateur
