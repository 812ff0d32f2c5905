#pragma once

#include "analysis/base/head_id.h"

#include <QObject>

#include <optional>
#include <set>

namespace secateur {

/// The selected heads and the hovered head or layer, which all views share. Lives on the GUI thread.
class Selection : public QObject {
    Q_OBJECT

public:
    enum class Mode { replace, add, toggle };

    explicit Selection(QObject* parent = nullptr);

    const std::set<HeadId>& heads() const { return m_heads; }
    /// The head to which keyboard actions apply, and which the inspector shows first.
    std::optional<HeadId> active() const { return m_active; }
    std::optional<HeadId> hovered() const { return m_hovered; }
    /// The layer of the hovered head, or the layer that is hovered as a whole.
    std::optional<int> hoveredLayer() const { return m_hoveredLayer; }

    /// Changes the selection. @param active the new active head; empty = the active head stays if it is still selected
    void select(const std::set<HeadId>& heads, Mode mode, std::optional<HeadId> active = {});
    void clear();
    void hover(std::optional<HeadId> head);
    void hoverLayer(std::optional<int> layer);

signals:
    void changed();
    void hoverChanged();

private:
    void point(std::optional<HeadId> head, std::optional<int> layer);

    std::set<HeadId> m_heads;
    std::optional<HeadId> m_active;
    std::optional<HeadId> m_hovered;
    std::optional<int> m_hoveredLayer;
};

} // namespace secateur
