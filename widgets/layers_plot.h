#pragma once

#include "analysis/figure.h"
#include "analysis/head_id.h"
#include "analysis/model_spec.h"

#include <QWidget>

#include <optional>
#include <set>

class QCustomPlot;

namespace secateur {

class Selection;

/// The drawn series, in which layers are selected: click, Ctrl to toggle, Shift to extend, drag, arrows. A selected
/// layer stands for its heads.
class LayersPlot : public QWidget {
    Q_OBJECT

public:
    LayersPlot(Selection* selection, QWidget* parent);

    void setModel(const ModelSpec& spec);
    void setFigure(const Figure& figure);
    std::optional<int> hoveredLayer() const { return m_hovered; }
    /// The middle of a layer on the axis.
    QPoint position(int layer) const;

signals:
    void layerHovered();
    void toolTipRequested(const QPoint& globalPosition);

protected:
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    class Marks;

    void paint();
    void followSelection();
    void hover(std::optional<int> layer);
    std::optional<int> layerAt(QPointF point) const;
    void press(int layer, Qt::KeyboardModifiers modifiers);
    void selectUpTo(int layer);
    std::set<HeadId> headsOf(int from, int to) const;

    Selection* m_selection;
    QCustomPlot* m_plot;
    Marks* m_marks = nullptr; ///< belongs to the plot
    Figure m_figure;
    ModelSpec m_spec;
    std::optional<int> m_hovered;
    bool m_dragging = false;
    bool m_removes = false;
    int m_anchor = 0;
    std::set<HeadId> m_before;  ///< kept by this drag
    std::set<HeadId> m_restore; ///< what Esc brings back
};

} // namespace secateur
