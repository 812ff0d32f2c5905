#include "widgets/heads/heads_grid.h"
#include "widgets/heads/heads_threshold.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"

#include <QCursor>
#include <QKeyEvent>

#include <algorithm>

namespace secateur {

void HeadsGrid::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Alt)
        updateCursor(mapFromGlobal(QCursor::pos()), event->modifiers() | Qt::AltModifier);
    if (event->key() == Qt::Key_Escape ? !escape() : !runKey(event) && !navigate(event))
        QWidget::keyPressEvent(event);
}

void HeadsGrid::keyReleaseEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Alt)
        updateCursor(mapFromGlobal(QCursor::pos()), event->modifiers() & ~Qt::AltModifier);
    QWidget::keyReleaseEvent(event);
}

/// Gives up what is under way: a drag, then a preview, then the selection.
bool HeadsGrid::escape() {
    if (m_gesture != Gesture::none)
        cancelGesture();
    else if (m_masks->preview())
        m_masks->setPreview({});
    else if (!m_selection->heads().empty())
        m_selection->clear();
    else
        return false;
    return true;
}

bool HeadsGrid::runKey(QKeyEvent* event) {
    const QPointF middle = QRectF(rect()).center();
    if (event->matches(QKeySequence::SelectAll)) {
        selectAll();
    } else if (event->matches(QKeySequence::ZoomIn)) {
        m_picture.zoom(HeadsPicture::zoomPerNotch, middle);
    } else if (event->matches(QKeySequence::ZoomOut)) {
        m_picture.zoom(1 / HeadsPicture::zoomPerNotch, middle);
    } else if (event->key() == Qt::Key_0 && event->modifiers().testFlag(Qt::ControlModifier)) {
        m_picture.resetZoom();
    } else if (event->key() == Qt::Key_BracketLeft || event->key() == Qt::Key_BracketRight) {
        if (m_gesture == Gesture::none)
            m_threshold->step(event->key() == Qt::Key_BracketRight ? 1 : -1);
        setHint(m_threshold->text());
    } else {
        return false;
    }
    return true;
}

bool HeadsGrid::navigate(QKeyEvent* event) {
    if (m_spec.layers.empty() || m_spec.maxHeads() == 0)
        return false;
    const bool toEdge = event->modifiers().testFlag(Qt::ControlModifier);
    const HeadId from = m_selection->active().value_or(m_anchor.head);
    const int page = std::max(1, m_picture.layersOnScreen() / 2);
    const int all = m_spec.layerCount() + m_spec.maxHeads();
    HeadId to = from;
    switch (event->key()) {
    case Qt::Key_Up:
        to = stepped(from, toEdge ? -all : -1, 0);
        break;
    case Qt::Key_Down:
        to = stepped(from, toEdge ? all : 1, 0);
        break;
    case Qt::Key_PageUp:
        to = stepped(from, -page, 0);
        break;
    case Qt::Key_PageDown:
        to = stepped(from, page, 0);
        break;
    case Qt::Key_Left:
        to = stepped(from, 0, toEdge ? -all : -1);
        break;
    case Qt::Key_Right:
        to = stepped(from, 0, toEdge ? all : 1);
        break;
    case Qt::Key_Home:
        to = stepped(from, toEdge ? -all : 0, -all);
        break;
    case Qt::Key_End:
        to = stepped(from, toEdge ? all : 0, all);
        break;
    default:
        return false;
    }
    const bool isStep = !toEdge && event->key() != Qt::Key_Home && event->key() != Qt::Key_End;
    if (isStep && !m_selection->active())
        to = stepped(from, 0, 0); // the first step shows where one is instead of leaving it
    moveTo(to, event->modifiers().testFlag(Qt::ShiftModifier));
    return true;
}

void HeadsGrid::moveTo(HeadId head, bool extend) {
    if (!extend || !m_selection->active())
        m_anchor = {HeadsPlace::Kind::cell, head};
    else if (m_anchor.kind != HeadsPlace::Kind::cell || !m_selection->heads().contains(m_anchor.head))
        m_anchor = {HeadsPlace::Kind::cell, *m_selection->active()};
    m_selection->select(headsBetween(m_anchor.head, head, HeadsPlace::Kind::cell), Selection::Mode::replace, head);
    m_picture.reveal(head);
}

/// Some layers down and units (heads or KV groups) to the right, as far as there are any; passes over layers without
/// heads.
HeadId HeadsGrid::stepped(HeadId from, int layers, int units) const {
    HeadId to{std::clamp(from.layer + layers, 0, m_spec.layerCount() - 1), from.head};
    const int onwards = layers < 0 ? -1 : 1;
    while (headCount(to.layer) == 0 && to.layer + onwards >= 0 && to.layer + onwards < m_spec.layerCount())
        to.layer += onwards;
    if (headCount(to.layer) == 0)
        return from;
    to.head = std::clamp(unitStart(to).head + units * unit(to.layer), 0, headCount(to.layer) - 1);
    return unitStart(to);
}

} // namespace secateur
