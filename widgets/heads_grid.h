#pragma once

#include "analysis/model_spec.h"
#include "widgets/heads_picture.h"

#include <QWidget>

#include <optional>
#include <set>

namespace secateur {

class Selection;

/// The grid of heads that mouse and keyboard select in: click, Ctrl to toggle, Shift to extend, drag for a rectangle,
/// Ctrl+Shift+drag for a lasso, headers for whole layers and columns, arrows. The wheel scrolls, with Ctrl it zooms;
/// the middle button pans.
class HeadsGrid : public QWidget {
    Q_OBJECT

public:
    HeadsGrid(Selection* selection, QWidget* parent);

    void setModel(const ModelSpec& spec);
    /// @param values [layers, heads]
    /// @param byGroup KV groups are selected as a whole
    void setValues(const Matrix& values, const ColourScale& scale, const QString& label, bool byGroup);
    /// Whether dragging without modifiers draws a lasso.
    void setLassoTool(bool on) { m_lassoTool = on; }
    void selectAll();
    void resetZoom();
    QRect cellRect(HeadId head) const { return m_picture.cellRect(head); }

signals:
    void toolTipRequested(const QPoint& globalPosition);

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

private:
    enum class Gesture { none, rectangle, lasso, pan };

    void followSelection();
    void followHover();
    void beginGesture(const HeadsPlace& place, Qt::KeyboardModifiers modifiers);
    void beginLasso(QPointF point, bool adds);
    void continueGesture(QPointF point);
    void cancelGesture();
    void applyRectangle(HeadId to);
    bool navigate(QKeyEvent* event);
    void moveTo(HeadId head, bool extend);
    HeadId stepped(HeadId from, int layers, int units) const;
    int unit(int layer) const;
    HeadId unitStart(HeadId head) const;
    std::optional<HeadId> shownUnit(std::optional<HeadId> head) const;
    bool exists(HeadId head) const;
    int headCount(int layer) const;
    std::set<HeadId> headsBetween(HeadId from, HeadId to, HeadsPlace::Kind kind) const;

    Selection* m_selection;
    HeadsPicture m_picture;
    ModelSpec m_spec;
    bool m_byGroup = false;
    bool m_lassoTool = false;

    Gesture m_gesture = Gesture::none;
    HeadsPlace m_anchor; ///< where the last gesture or key without Shift began
    bool m_adds = false; ///< this gesture keeps what was selected before
    bool m_removes = false;
    std::set<HeadId> m_before;
    std::optional<HeadId> m_activeBefore;
    QPolygonF m_lasso;
    QPointF m_lastPoint;
};

} // namespace secateur
