#pragma once

#include "analysis/masks/protection.h"
#include "widgets/heads/heads_cuts.h"

#include <QRect>
#include <QString>

#include <optional>

class QCPAxis;
class QPointF;

namespace secateur {

enum class LayerPart { attention, mlp, block, protection };

struct LayerSwitch {
    int layer = 0;
    LayerPart part = LayerPart::attention;
    bool operator==(const LayerSwitch&) const = default;
};

/// What a click on a switch does, for the status line.
QString switchHint(const PruningMask& mask, const Protection& isProtected, LayerSwitch which);

/// Four small switches beside each row of the heads' grid: attention, MLP and block, on while they are kept, and the
/// lock. Squares where rows are low, nothing where they are lower. A handle: the drawing belongs to the plot.
class LayerSwitches {
public:
    /// @param rows the axis of the grid, at whose right the switches stand
    LayerSwitches(QCPAxis* rows, const PlotTheme& theme);

    void setTheme(const PlotTheme& theme);
    void setLayers(const std::vector<LayerCuts>& layers);
    void setHovered(std::optional<LayerSwitch> hovered);

    /// Pixels that all of them take up.
    int width() const;
    std::optional<LayerSwitch> at(QPointF point) const;
    /// Null where it is not shown.
    QRect rect(LayerSwitch which) const;

private:
    class Drawing;
    Drawing* m_drawing;
};

} // namespace secateur
