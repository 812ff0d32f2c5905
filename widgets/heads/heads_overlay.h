#pragma once

#include "analysis/base/head_id.h"
#include "analysis/masks/protection.h"
#include "widgets/heads/heads_cuts.h"

#include <QPolygonF>
#include <QRect>
#include <QString>

#include <optional>
#include <set>
#include <vector>

class QPointF;

namespace secateur {

/// Draws over the cells of the heads' grid: the outline of the selection, frames around the active and the hovered
/// cell, a translucent cover over heads that do not pass the filter, and the lasso.
class HeadsOutlines : public CellsDrawing {
public:
    using CellsDrawing::CellsDrawing;

    void setSelected(const std::set<HeadId>& heads) { m_selected = heads; }
    /// Sets the frame of the active cell. @param count number of cells in the frame, beginning with `head`
    void setActive(std::optional<HeadId> head, int count);
    void setHovered(std::optional<HeadId> head, int count);
    /// @param passing [layers][heads] false = the cell is covered by the translucent background colour
    void setPassing(const std::vector<std::vector<bool>>& passing) { m_passing = passing; }
    void setLasso(const QPolygonF& lasso) { m_lasso = lasso; }

protected:
    QRect clipRect() const override;
    void draw(QCPPainter& painter) override;

private:
    std::vector<QRect> contour() const;
    void drawVeil(QCPPainter& painter) const;
    void drawContour(QCPPainter& painter) const;
    void drawFrame(QCPPainter& painter, const QRect& cell, int width, const QColor& colour) const;

    std::set<HeadId> m_selected;
    std::optional<HeadId> m_active;
    std::optional<HeadId> m_hovered;
    int m_activeCount = 1;
    int m_hoveredCount = 1;
    QPolygonF m_lasso;
    std::vector<std::vector<bool>> m_passing;
};

enum class LayerPart { attention, mlp, block, protection };

struct LayerSwitch {
    int layer = 0;
    LayerPart part = LayerPart::attention;
    bool operator==(const LayerSwitch&) const = default;
};

/// The state of a switch and the effect of a click on it, as text for the status line.
QString switchHint(const PruningMask& mask, const Protection& isProtected, LayerSwitch which);

/// Four small switches beside each row of the heads' grid: attention, MLP and block, which are on while the part is
/// kept, and the lock, with headers above. In low rows they are squares without letters; very low rows have none.
class LayerSwitches : public CellsDrawing {
public:
    using CellsDrawing::CellsDrawing;

    void setLayers(const std::vector<LayerCuts>& layers) { m_layers = layers; }
    void setHovered(std::optional<LayerSwitch> hovered) { m_hovered = hovered; }

    /// Width in pixels of all four switches and of the gap in front of them.
    int width() const;
    std::optional<LayerSwitch> at(QPointF point) const;
    /// The area of a switch; null if the switch is not shown.
    QRect box(LayerSwitch which) const;

protected:
    QRect clipRect() const override;
    void draw(QCPPainter& painter) override;

private:
    QRect rowsRect() const;
    int headerHeight() const;
    bool isShown() const;
    void drawHeader(QCPPainter& painter) const;
    const LayerCuts& cuts(int layer) const { return m_layers[static_cast<std::size_t>(layer)]; }
    void drawSwitch(QCPPainter& painter, LayerSwitch which) const;
    void drawLetter(QCPPainter& painter, const QRect& box, LayerPart part, bool bypassed, const QColor& colour) const;
    void drawProtection(QCPPainter& painter, LayerSwitch which) const;
    void drawFrame(QCPPainter& painter, const QRect& box, const QColor& colour) const;

    std::vector<LayerCuts> m_layers;
    std::optional<LayerSwitch> m_hovered;
};

} // namespace secateur
