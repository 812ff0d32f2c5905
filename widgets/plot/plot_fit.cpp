#include "widgets/plot/plot_fit.h"

#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_frame.h"

#include <QFontMetrics>
#include <QMargins>
#include <QStringList>

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace secateur {

namespace {

/// The first and the last pixel that the tick labels of an axis reach along it. Empty = it has none.
std::optional<std::pair<int, int>> reachOfTicks(const QCPAxis& axis) {
    const QFontMetrics metrics(axis.tickLabelFont());
    const bool isWide = axis.orientation() == Qt::Horizontal && axis.tickLabelRotation() == 0;
    std::optional<std::pair<int, int>> reach;
    const qsizetype count = std::min(axis.tickVector().size(), axis.tickVectorLabels().size());
    for (qsizetype i = 0; i < count; ++i) {
        const double middle = axis.coordToPixel(axis.tickVector()[i]);
        if (!axis.range().contains(axis.tickVector()[i]) || !std::isfinite(middle))
            continue;
        const int extent = isWide ? metrics.horizontalAdvance(axis.tickVectorLabels()[i]) : metrics.height();
        const auto first = static_cast<int>(std::floor(middle - extent / 2.0));
        const auto last = static_cast<int>(std::ceil(middle + extent / 2.0));
        reach = {std::min(first, reach ? reach->first : first), std::max(last, reach ? reach->second : last)};
    }
    return reach;
}

/// Widens the margins of an axis rect by what tick labels reach beyond its outer edge.
void makeRoomForTicks(QCPAxisRect& rect) {
    const QRect outer = rect.outerRect();
    QMargins needed = rect.minimumMargins();
    for (const QCPAxis* axis : rect.axes()) {
        const auto reach = axis->visible() && axis->tickLabels() ? reachOfTicks(*axis) : std::nullopt;
        if (!reach)
            continue;
        const bool isHorizontal = axis->orientation() == Qt::Horizontal;
        const int before = (isHorizontal ? outer.left() : outer.top()) - reach->first;
        const int after = reach->second - (isHorizontal ? outer.right() : outer.bottom());
        if (isHorizontal && before > 0)
            needed.setLeft(std::max(needed.left(), rect.margins().left() + before));
        if (isHorizontal && after > 0)
            needed.setRight(std::max(needed.right(), rect.margins().right() + after));
        if (!isHorizontal && before > 0)
            needed.setTop(std::max(needed.top(), rect.margins().top() + before));
        if (!isHorizontal && after > 0)
            needed.setBottom(std::max(needed.bottom(), rect.margins().bottom() + after));
    }
    rect.setMinimumMargins(needed);
}

/// The length in pixels in which a label in the middle of an axis stays inside the outer edge.
int roomForLabel(const QCPAxis& axis) {
    const QRect outer = axis.axisRect()->outerRect();
    const QPoint middle = axis.axisRect()->rect().center();
    return axis.orientation() == Qt::Horizontal ? 2 * std::min(middle.x() - outer.left(), outer.right() - middle.x())
                                                : 2 * std::min(middle.y() - outer.top(), outer.bottom() - middle.y());
}

void breakLabel(QCPAxis& axis) {
    const QFontMetrics metrics(axis.labelFont());
    const int room = roomForLabel(axis);
    int longest = 0;
    for (const QString& line : axis.label().split('\n'))
        longest = std::max(longest, metrics.horizontalAdvance(line));
    const int lines = std::max(2, static_cast<int>(axis.label().count('\n')) + 1);
    if (longest > room && room > 0)
        axis.setLabel(
            brokenLabel(QString(axis.label()).replace('\n', ' ').toStdString(), axis.labelFont(), room, lines));
}

} // namespace

void layOutFigure(QCustomPlot& plot) {
    constexpr int rounds = 2; // broken labels change the sizes of axes
    layOut(plot);
    for (int round = 0; round < rounds; ++round) {
        for (QCPAxisRect* rect : plot.axisRects()) {
            makeRoomForTicks(*rect);
            for (QCPAxis* axis : rect->axes())
                if (axis->visible() && !axis->label().isEmpty())
                    breakLabel(*axis);
        }
        layOut(plot);
    }
}

} // namespace secateur
