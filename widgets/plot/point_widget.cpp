#include "widgets/plot/point_widget.h"

#include "analysis/base/shown_number.h"
#include "widgets/plot/plot_axes.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <qcustomplot.h>

#include <algorithm>
#include <cmath>

namespace secateur {

namespace {

constexpr double reachPixels = 9;
constexpr double ringSize = 13;

} // namespace

PointWidget::PointWidget(QWidget* parent)
    : FigureWidget(parent) {
    setMouseTracking(true);
}

std::vector<PointWidget::Point> PointWidget::points() const {
    std::vector<Point> points;
    for (const FigureSeries& series : figure().series)
        for (std::size_t i = 0; i < series.places.size(); ++i)
            if (std::isfinite(series.values[i]) && std::isfinite(series.positions[i]))
                points.push_back({&series, i});
    return points;
}

std::optional<PointWidget::Point> PointWidget::find(std::size_t place) const {
    const std::vector<Point> all = points();
    const auto found = std::ranges::find(all, place, &Point::place);
    return found == all.end() ? std::nullopt : std::optional(*found);
}

QPointF PointWidget::pixels(const Point& point) const {
    const QCPGraph* any = plot()->graph(0);
    return {any->keyAxis()->coordToPixel(point.series->positions[point.index]),
            any->valueAxis()->coordToPixel(point.series->values[point.index])};
}

std::optional<QPoint> PointWidget::position(std::size_t place) const {
    const auto point = find(place);
    return point ? std::optional(pixels(*point).toPoint()) : std::nullopt;
}

std::optional<PointWidget::Point> PointWidget::under(const QPointF& position) const {
    std::optional<Point> nearest;
    double reach = reachPixels;
    for (const Point& point : points()) {
        const QPointF apart = pixels(point) - position;
        const double distance = std::hypot(apart.x(), apart.y());
        if (distance > reach)
            continue;
        nearest = point;
        reach = distance;
    }
    return nearest;
}

QString PointWidget::text(std::size_t place) const {
    const auto point = find(place);
    if (!point)
        return {};
    if (m_describe)
        return m_describe(place);
    const FigureSeries& series = *point->series;
    const double error = point->index < series.errors.size() ? series.errors[point->index] : 0;
    const QString name = point->index < series.names.size() ? QString::fromStdString(series.names[point->index])
                                                            : QString::fromStdString(series.label);
    const auto line = [](const FigureAxis& axis, const std::string& value) {
        return QString::fromStdString(axis.label + ": " + value);
    };
    return QStringList{name, line(figure().x, shownNumber(series.positions[point->index], 5)),
                       line(figure().y, shownWithError(series.values[point->index], error))}
        .join('\n');
}

void PointWidget::highlight(std::optional<std::size_t> place) {
    if (place == m_highlighted)
        return;
    m_highlighted = place;
    repaintFigure();
}

void PointWidget::painted() {
    const auto point = m_highlighted ? find(*m_highlighted) : std::nullopt;
    if (!point)
        return;
    const QCPGraph* any = plot()->graph(0);
    const PlotTheme theme = themeOf(*this);
    QCPGraph* ring = plot()->addGraph(any->keyAxis(), any->valueAxis());
    ring->setData({point->series->positions[point->index]}, {point->series->values[point->index]});
    ring->setLineStyle(QCPGraph::lsNone);
    ring->setScatterStyle({QCPScatterStyle::ssCircle, theme.pen(theme.accent, 2), Qt::NoBrush, ringSize * theme.unit});
}

void PointWidget::showText(const Point& point) {
    QToolTip::showText(mapToGlobal(pixels(point).toPoint()), text(point.place()), this);
}

bool PointWidget::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return FigureWidget::event(event);
    if (const auto point = under(static_cast<QHelpEvent*>(event)->pos()))
        showText(*point);
    else
        QToolTip::hideText();
    return true;
}

void PointWidget::mousePressEvent(QMouseEvent* event) {
    const auto point = under(event->position());
    if (event->button() != Qt::LeftButton || !point)
        return FigureWidget::mousePressEvent(event);
    emit chosen(point->place());
}

void PointWidget::mouseReleaseEvent(QMouseEvent* event) {
    if (const auto point = under(event->position())) // Qt hides the tooltip on release
        showText(*point);
}

void PointWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto point = under(event->position());
    if (event->button() == Qt::LeftButton && point)
        emit activated(point->place());
}

void PointWidget::mouseMoveEvent(QMouseEvent* event) {
    setCursor(under(event->position()) ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

} // namespace secateur
