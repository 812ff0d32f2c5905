#include "widgets/heads/heads_grid.h"
#include "widgets/heads/heads_threshold.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"

#include <QCursor>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

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
        return; // what is within a dropped block has no state of its own
    } else if (which.part == LayerPart::mlp) {
        m_masks->setMlpCut(layers, layer.mlp);
    } else {
        m_masks->setAttention(layers, layer.attention == AttentionCut::keep ? AttentionCut::drop : AttentionCut::keep);
    }
}

/// Every cell between two points of a drag: the pointer may jump over some.
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
            return tr("This metric does not say which heads to cut first");
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

} // namespace secateur
