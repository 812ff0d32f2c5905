#pragma once

#include "analysis/model/model_spec.h"
#include "widgets/heads/heads_picture.h"
#include "widgets/heads/mask_actions.h"

#include <QWidget>

#include <optional>
#include <set>

namespace secateur {

class HeadFilter;
class HeadsThreshold;
class MaskEditor;
class Selection;

/// The grid of heads, in which heads are selected and cut with mouse and keyboard. Selecting: click, Ctrl to toggle,
/// Shift to extend, drag for a rectangle, Ctrl+Shift+drag for a lasso, headers for whole layers and columns, arrow
/// keys. Cutting: click and drag with the shears or with Alt, the switches next to a layer, the colour bar or the keys
/// [ and ] for a threshold. The wheel scrolls, and zooms with Ctrl; the middle button pans.
class HeadsGrid : public QWidget {
    Q_OBJECT
    Q_PROPERTY(QRect colourBar READ colourBarRect)

public:
    enum class Tool { select, lasso, shears };

    HeadsGrid(MaskEditor* masks, Selection* selection, QWidget* parent);

    void setModel(const ModelSpec& spec);
    /// Sets the values to draw.
    /// @param values [layers, heads]
    /// @param byGroup whether KV groups are selected as a whole
    /// @param classes names of the classes if values are indices of classes; empty = values are numbers
    void setValues(const Matrix& values, const ColourScale& scale, const QString& label, bool byGroup,
                   const QStringList& classes = {});
    /// Sets the filter. Heads that do not pass it are drawn paler. Selecting several heads at once leaves them out; a
    /// click selects any head.
    void setFilter(const HeadFilter* filter);
    /// Sets the effect of dragging without modifier keys.
    void setTool(Tool tool);
    HeadsThreshold* threshold() const { return m_threshold; }
    /// The effect of a click at the pointer, or of the current drag; empty if the pointer is over a cell.
    const QString& hint() const { return m_hint; }
    void selectAll();
    void resetZoom();
    /// Scrolls until a head is visible.
    void reveal(HeadId head) { m_picture.reveal(head); }
    QRect cellRect(HeadId head) const { return m_picture.cellRect(head); }
    QRect switchRect(LayerSwitch which) const { return m_picture.switches().box(which); }
    QRect colourBarRect() const { return m_picture.colourBar().pixels(); }
    /// The layer whose label or switches are at a point; empty if there is none.
    std::optional<int> layerAt(QPointF point) const;
    /// Selects the heads at a point, unless they are selected already. Called before a menu opens there.
    void selectForMenu(QPointF point);

signals:
    void toolTipRequested(const QPoint& globalPosition);
    void hinted();
    /// Emitted when a cell was double-clicked.
    void opened(secateur::HeadId head);

protected:
    bool event(QEvent* event) override;
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void keyReleaseEvent(QKeyEvent* event) override;

private:
    enum class Gesture { none, rectangle, lasso, pan, shears, threshold };

    // Defined in heads_grid.cpp.
    void followMask();
    void followSelection();
    void followHover();
    void followFilter();
    void beginGesture(const HeadsPlace& place, Qt::KeyboardModifiers modifiers);
    void beginLasso(QPointF point, bool adds);
    void continueGesture(QPointF point);
    void cancelGesture();
    void applyRectangle(HeadId to);
    void press(QPointF point, Qt::KeyboardModifiers modifiers);
    void finishGesture();

    // Defined in heads_grid_actions.cpp.
    void beginCut(const HeadsPlace& place);
    void toggle(LayerSwitch which);
    void cutAlong(QPointF from, QPointF to);
    void updateCursor(QPointF point, Qt::KeyboardModifiers modifiers);
    QString hintAt(QPointF point) const;
    void setHint(const QString& hint);
    bool runKey(QKeyEvent* event);
    bool escape();
    bool navigate(QKeyEvent* event);
    void moveTo(HeadId head, bool extend);
    HeadId stepped(HeadId from, int layers, int units) const;

    // Defined in heads_grid.cpp.
    int unit(int layer) const;
    HeadId unitStart(HeadId head) const;
    std::optional<HeadId> shownUnit(std::optional<HeadId> head) const;
    bool exists(HeadId head) const;
    int headCount(int layer) const;
    std::set<HeadId> headsBetween(HeadId from, HeadId to, HeadsPlace::Kind kind) const;
    /// The heads of a set that pass the filter.
    std::set<HeadId> passing(const std::set<HeadId>& heads) const;

    Selection* m_selection;
    MaskEditor* m_masks;
    const HeadFilter* m_filter = nullptr;
    HeadsThreshold* m_threshold;
    HeadsShears m_shears;
    HeadsPicture m_picture;
    ModelSpec m_spec;
    bool m_byGroup = false;
    Tool m_tool = Tool::select;
    QString m_hint;

    Gesture m_gesture = Gesture::none;
    Qt::MouseButton m_button = Qt::NoButton; ///< the button that began the drag
    HeadsPlace m_anchor;                     ///< the place where the last drag, click or key press without Shift began
    bool m_adds = false;                     ///< whether the drag adds heads to m_before
    bool m_removes = false;                  ///< whether the drag removes heads from m_before
    std::set<HeadId> m_before;               ///< the selection before the drag
    std::optional<HeadId> m_activeBefore;
    QPolygonF m_lasso;
    QPointF m_lastPoint;
};

} // namespace secateur
