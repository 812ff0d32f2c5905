#include "widgets/plot/plot_boxes.h"

#include "widgets/plot/plot_scale.h"

#include <qcustomplot.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace secateur {

namespace {

constexpr double boxShare = 0.55; ///< width of a box as a share of the least distance between positions
constexpr double boxTint = 0.25;  ///< share of the series' colour inside a box
constexpr const char* outlierColour = "#c8102e";

/// The width of boxes on the x axis. @param range of the positions, for a single box
double boxWidth(const FigureSeries& series, const AxisRange& range) {
    std::vector<double> positions = series.positions;
    std::ranges::sort(positions);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < positions.size(); ++i)
        if (positions[i] > positions[i - 1])
            least = std::min(least, positions[i] - positions[i - 1]);
    return boxShare * (std::isfinite(least) ? least : (range.upper - range.lower) / 6);
}

AxisRange rangeOfPositions(const Figure& figure) {
    return pointRange(figure.series, &FigureSeries::positions, figure.x.logarithmic);
}

/// Values that the axis can show.
QVector<double> shownOutliers(const FigureBox& box, const QCPAxis& axis) {
    QVector<double> shown;
    for (const double value : box.outliers)
        if (std::isfinite(value) && (value > 0 || axis.scaleType() != QCPAxis::stLogarithmic))
            shown << value;
    return shown;
}

} // namespace

void addBoxes(QCPAxis& x, QCPAxis& y, const FigureSeries& series, const QColor& colour, const PlotTheme& theme) {
    auto* boxes = new QCPStatisticalBox(&x, &y);
    boxes->setName(QString::fromStdString(series.label));
    boxes->setWidth(boxWidth(series, {x.range().lower, x.range().upper}));
    boxes->setWhiskerWidth(0.6 * boxes->width());
    boxes->setPen(theme.pen(colour));
    boxes->setBrush(mixed(theme.background, colour, boxTint));
    boxes->setMedianPen(theme.pen(colour, 2));
    boxes->setWhiskerPen(theme.pen(colour));
    boxes->setWhiskerBarPen(theme.pen(colour));
    boxes->setOutlierStyle({QCPScatterStyle::ssCircle, theme.pen(outlierColour), Qt::NoBrush, 4 * theme.unit});
    boxes->setSelectable(QCP::stNone);
    for (std::size_t i = 0; i < std::min(series.boxes.size(), series.positions.size()); ++i) {
        const FigureBox& box = series.boxes[i];
        if (std::isfinite(box.median))
            boxes->addData(series.positions[i], box.lower, box.q1, box.median, box.q3, box.upper,
                           shownOutliers(box, y));
    }
}

std::optional<AxisRange> rangeWithBoxes(const Figure& figure) {
    AxisRange range = rangeOfPositions(figure);
    bool hasBoxes = false;
    for (const FigureSeries& series : figure.series) {
        const double half = boxWidth(series, range) / 2;
        for (std::size_t i = 0; i < std::min(series.boxes.size(), series.positions.size()); ++i) {
            hasBoxes = true;
            const double lower = series.positions[i] - half;
            range.lower = lower > 0 || !figure.x.logarithmic ? std::min(range.lower, lower) : range.lower;
            range.upper = std::max(range.upper, series.positions[i] + half);
        }
    }
    return hasBoxes ? std::optional(range) : std::nullopt;
}

} // namespace secateur
