#pragma once

#include "analysis/base/head_id.h"
#include "widgets/plot/plot_theme.h"

#include <QPolygonF>

#include <optional>
#include <set>
#include <vector>

class QCPAxis;

namespace secateur {

/// What is drawn over the cells of the heads' grid: the contour of the selection, the active and the hovered cell, the
/// lasso. Lies on the plot's overlay layer, which is drawn without the rest. A handle: the drawing belongs to the plot.
class HeadsOutlines {
public:
    HeadsOutlines(QCPAxis* columns, QCPAxis* rows, const PlotTheme& theme);

    void setTheme(const PlotTheme& theme);
    void setSelected(const std::set<HeadId>& heads);
    /// @param count cells from this one on
    void setActive(std::optional<HeadId> head, int count);
    void setHovered(std::optional<HeadId> head, int count);
    /// [layers][heads] false = a veil lies over it
    void setPassing(const std::vector<std::vector<bool>>& passing);
    void setLasso(const QPolygonF& lasso);

private:
    class Drawing;
    Drawing* m_drawing;
};

} // namespace secateur
