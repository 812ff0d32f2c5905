#pragma once

#include "widgets/weights/circuit_run.h"

#include <QWidget>

#include <optional>
#include <vector>

namespace secateur {

class MaskEditor;
class Selection;

/// Thumbnails of the circuits of several heads, query-key and output-value side by side. A click or the arrows select a
/// head. Heads that the mask cuts are hatched.
class CircuitSheet : public QWidget {
    Q_OBJECT

public:
    /// @param masks, selection outlive this object
    CircuitSheet(MaskEditor* masks, Selection* selection, QWidget* parent = nullptr);

    /// Sets the heads, in the order in which they are shown. @param layer whose heads need no layer in their name
    void setHeads(const std::vector<HeadId>& heads, int layer);
    void setThumbnail(HeadId head, const CircuitThumbnails& thumbnails);
    /// Removes all thumbnails.
    void clear();

    const std::vector<HeadId>& heads() const { return m_heads; }
    bool hasThumbnail(HeadId head) const { return m_thumbnails.contains(head); }
    /// The rectangle of a head's pictures. @param head one of heads()
    QRect cellRect(HeadId head) const;
    std::optional<HeadId> headAt(QPoint point) const;
    /// Scrolls the area around this widget to the active head, once the area has its size.
    void revealActive();
    QSize sizeHint() const override;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    static constexpr int side = 72;
    static constexpr int gap = 4;

    int labelHeight() const;
    QRect cellRect(std::size_t index) const;
    void paintHead(QPainter& painter, std::size_t index) const;
    void moveBy(int steps);

    MaskEditor* m_masks;
    Selection* m_selection;
    std::vector<HeadId> m_heads;
    int m_layer = -1;
    std::map<HeadId, CircuitThumbnails> m_thumbnails;
};

} // namespace secateur
