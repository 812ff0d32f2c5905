#include "widgets/document/selection.h"

namespace secateur {

namespace {

std::set<HeadId> combined(std::set<HeadId> current, const std::set<HeadId>& heads, Selection::Mode mode) {
    if (mode == Selection::Mode::replace)
        return heads;
    for (const HeadId& head : heads) {
        const bool isNew = current.insert(head).second;
        if (!isNew && mode == Selection::Mode::toggle)
            current.erase(head);
    }
    return current;
}

} // namespace

Selection::Selection(QObject* parent)
    : QObject(parent) {}

void Selection::select(const std::set<HeadId>& heads, Mode mode, std::optional<HeadId> active) {
    std::set<HeadId> next = combined(m_heads, heads, mode);
    if (!active)
        active = m_active;
    if (active && !next.contains(*active))
        active.reset();
    if (!active && !next.empty())
        active = *next.begin();
    if (next == m_heads && active == m_active)
        return;
    m_heads = std::move(next);
    m_active = active;
    emit changed();
}

void Selection::clear() {
    select({}, Mode::replace);
}

void Selection::hover(std::optional<HeadId> head) {
    point(head, head ? std::optional(head->layer) : std::nullopt);
}

void Selection::hoverLayer(std::optional<int> layer) {
    point({}, layer);
}

void Selection::point(std::optional<HeadId> head, std::optional<int> layer) {
    if (head == m_hovered && layer == m_hoveredLayer)
        return;
    m_hovered = head;
    m_hoveredLayer = layer;
    emit hoverChanged();
}

} // namespace secateur
