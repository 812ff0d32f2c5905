#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/heads_threshold.h"

#include <QCursor>
#include <QKeyEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

// ---- cuts

void HeadsGrid::beginCut(const HeadsPlace& place) {
    const std::set<HeadId> heads = headsBetween(place.head, place.head, place.kind);
    if (heads.empty())
        return;
    m_anchor = place;
    m_gesture = Gesture::shears;
    m_shears.begin(heads);
}

void HeadsGrid::toggle(LayerSwitch which) {
    const LayerMask& layer = m_masks->mask().layer(which.layer);
    const std::set<int> layers{which.layer};
    if (which.part == LayerPart::protection) {
        Protection units = m_masks->isProtected();
        const bool wasProtected = units.layers.contains(which.layer);
        if (wasProtected)
            units.releaseLayer(m_masks->spec(), which.layer);
        else
            units.protectLayer(m_masks->spec(), which.layer);
        m_masks->setProtected(units,
                              (wasProtected ? tr("Unprotect layer %1") : tr("Protect layer %1")).arg(which.layer));
    } else if (which.part == LayerPart::block) {
        m_masks->setBlockCut(layers, layer.block);
    } else if (!layer.block) {
        return; // a dropped block must be restored before its sublayers can be switched
    } else if (which.part == LayerPart::mlp) {
        m_masks->setMlpCut(layers, layer.mlp);
    } else {
        m_masks->setAttention(layers, layer.attention == AttentionCut::keep ? AttentionCut::drop : AttentionCut::keep);
    }
}

/// Cuts or restores every cell between two points of a drag, because the pointer may skip cells.
void HeadsGrid::cutAlong(QPointF from, QPointF to) {
    if (m_anchor.kind != HeadsPlace::Kind::cell) {
        m_shears.paint(headsBetween(m_picture.nearest(from), m_picture.nearest(to), m_anchor.kind));
        return;
    }
    std::set<HeadId> heads;
    const double length = std::hypot(to.x() - from.x(), to.y() - from.y());
    const int steps = std::max(1, static_cast<int>(std::ceil(length)));
    for (int step = 0; step <= steps; ++step) {
        const std::optional<HeadsPlace> place = m_picture.placeAt(from + (to - from) * step / steps);
        if (place && place->kind == HeadsPlace::Kind::cell && !heads.contains(place->head))
            heads.merge(headsBetween(place->head, place->head, HeadsPlace::Kind::cell));
    }
    m_shears.paint(heads);
}

void HeadsGrid::updateCursor(QPointF point, Qt::KeyboardModifiers modifiers) {
    if (m_gesture != Gesture::none)
        return;
    if (m_picture.switches().at(point))
        setCursor(Qt::PointingHandCursor);
    else if (m_picture.colourBar().contains(point) && m_threshold->isOffered())
        setCursor(Qt::SplitVCursor);
    else if (m_picture.placeAt(point) && (m_tool == Tool::shears || modifiers.testFlag(Qt::AltModifier)))
        setCursor(shearsCursor());
    else
        unsetCursor();
}

QString HeadsGrid::hintAt(QPointF point) const {
    if (m_picture.colourBar().contains(point)) {
        if (!m_threshold->isOffered())
            return m_threshold->end() == PruneFirst::neither
                       ? tr("This metric has no pruning direction")
                       : tr("Choose another scale to drag a threshold: shares of a layer are no values");
        return m_threshold->end() == PruneFirst::low ? tr("Drag to cut the heads below a threshold")
                                                     : tr("Drag to cut the heads above a threshold");
    }
    const std::optional<LayerSwitch> which = m_picture.switches().at(point);
    return which ? switchHint(m_masks->mask(), m_masks->isProtected(), *which) : QString();
}

void HeadsGrid::setHint(const QString& hint) {
    if (hint == std::exchange(m_hint, hint))
        return;
    emit hinted();
}

std::optional<int> HeadsGrid::layerAt(QPointF point) const {
    if (const std::optional<LayerSwitch> which = m_picture.switches().at(point))
        return which->layer;
    const std::optional<HeadsPlace> place = m_picture.placeAt(point);
    return place && place->kind == HeadsPlace::Kind::layerHeader ? std::optional(place->head.layer) : std::nullopt;
}

void HeadsGrid::selectForMenu(QPointF point) {
    const std::optional<int> layer = layerAt(point);
    const std::optional<HeadsPlace> place =
        layer ? HeadsPlace{HeadsPlace::Kind::layerHeader, {*layer, 0}} : m_picture.placeAt(point);
    if (!place)
        return;
    const std::set<HeadId> heads = headsBetween(place->head, place->head, place->kind);
    if (!std::ranges::includes(m_selection->heads(), heads))
        m_selection->select(heads, Selection::Mode::replace);
}

// ---- keyboard

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

/// Cancels the drag if there is one; otherwise removes the preview; otherwise clears the selection.
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
        to = stepped(from, 0, 0); // without an active head, the first key press goes to the start position
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

/// The head that is `layers` rows below and `units` heads or KV groups to the right of `from`, limited to the grid.
/// Layers without heads are skipped.
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
