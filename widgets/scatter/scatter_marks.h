#pragma once

#include "widgets/plot/plot_theme.h"

#include <QPolygonF>

#include <optional>
#include <vector>

class QCPAxisRect;

namespace secateur {

/// What is drawn over the points of a scatter: the selected, the active and the hovered ones, and what is being drawn
/// around others. Lies on the plot's overlay layer. A handle: the drawing belongs to the axis rect.
class ScatterMarks {
public:
    struct Point {
        QPointF pixel;
        QRgb colour = 0;
        bool isCut = false;
    };

    ScatterMarks(QCPAxisRect* rect, const PlotTheme& theme, double diameter);

    /// Those that a filter leaves: the others step back. Absent = there is no filter.
    void setPassing(std::optional<std::vector<Point>> points);
    void setSelected(std::vector<Point> points);
    void setActive(std::optional<Point> point);
    void setHovered(std::optional<Point> point);
    void setOutline(const QPolygonF& outline);

private:
    class Drawing;
    Drawing* m_drawing;
};

} // namespace secateur
