#include "widgets/plot/point_widget.h"

#include "analysis/base/shown_number.h"
#include "widgets/plot/plot_axes.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <qcustomplot.h>

namespace secateur {

namespace {

constexpr double reachPixels = 9;
constexpr double ringSize = 13;

} // namespace

PointWidget::PointWidget(QWidget* parent)
    : FigureWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
}

std::optional<FigurePoint> PointWidget::find(std::size_t place) const {
    const std::vector<FigureSeries>& all = figure().series;
    for (std::size_t series = 0; series < all.size(); ++series)
        for (std::size_t i = 0; i < all[series].places.size(); ++i)
            if (all[series].places[i] == place && pointPixel(*plot(), figure(), {series, i}))
                return FigurePoint{series, i};
    return std::nullopt;
}

std::optional<QPoint> PointWidget::position(std::size_t place) const {
    const auto point = find(place);
    return point ? std::optional(pointPixel(*plot(), figure(), *point)->toPoint()) : std::nullopt;
}

std::optional<FigurePoint> PointWidget::under(const QPointF& position) const {
    return nearestPoint(*plot(), figure(), position, reachPixels);
}

QString PointWidget::text(std::size_t place) const {
    const auto point = find(place);
    if (!point)
        return {};
    if (m_describe)
        return m_describe(place);
    const FigureSeries& series = figure().series[point->series];
    const std::size_t i = point->point;
    const double error = i < series.errors.size() ? series.errors[i] : 0;
    const QString name = QString::fromStdString(i < series.names.size() ? series.names[i] : series.label);
    const auto line = [](const FigureAxis& axis, const std::string& value) {
        return QString::fromStdString(axis.label + ": " + value);
    };
    return QStringList{name, line(figure().x, shownNumber(series.positions[i], 5)),
                       line(figure().y, shownWithError(series.values[i], error))}
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
    const QPointF pixel = pointPixel(*plot(), figure(), *point).value();
    const QCPAxisRect& rect = *plot()->axisRect();
    QCPAxis* x = rect.axis(QCPAxis::atBottom);
    QCPAxis* y = rect.axis(QCPAxis::atLeft);
    const PlotTheme theme = themeOf(*this);
    QCPGraph* ring = plot()->addGraph(x, y);
    ring->setData({x->pixelToCoord(pixel.x())}, {y->pixelToCoord(pixel.y())});
    ring->setLineStyle(QCPGraph::lsNone);
    ring->setScatterStyle({QCPScatterStyle::ssCircle, theme.pen(theme.accent, 2), Qt::NoBrush, ringSize * theme.unit});
}

void PointWidget::showText(const FigurePoint& point) {
    const QPointF pixel = pointPixel(*plot(), figure(), point).value_or(QPointF());
    QToolTip::showText(mapToGlobal(pixel.toPoint()), text(placeOf(point)), this);
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
    emit chosen(placeOf(*point));
}

void PointWidget::mouseReleaseEvent(QMouseEvent* event) {
    if (const auto point = under(event->position())) // Qt hides the tooltip on release
        showText(*point);
}

void PointWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto point = under(event->position());
    if (event->button() == Qt::LeftButton && point)
        emit activated(placeOf(*point));
}

void PointWidget::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Left:
        return moveBy({-1, 0});
    case Qt::Key_Right:
        return moveBy({1, 0});
    case Qt::Key_Up:
        return moveBy({0, -1});
    case Qt::Key_Down:
        return moveBy({0, 1});
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_highlighted && find(*m_highlighted))
            return emit activated(*m_highlighted);
        break;
    default:
        break;
    }
    FigureWidget::keyPressEvent(event);
}

/// Chooses the nearest point in a direction, within 45 degrees of it; without a chosen point, the leftmost one.
void PointWidget::moveBy(QPointF direction) {
    const std::optional<FigurePoint> from = m_highlighted ? find(*m_highlighted) : std::nullopt;
    const QPointF start = from ? pointPixel(*plot(), figure(), *from).value() : QPointF();
    std::optional<FigurePoint> next;
    double best = 0;
    for (std::size_t series = 0; series < figure().series.size(); ++series)
        for (std::size_t i = 0; i < figure().series[series].places.size(); ++i) {
            const auto pixel = pointPixel(*plot(), figure(), {series, i});
            const QPointF way = pixel.value_or(start) - start;
            const double along = QPointF::dotProduct(way, direction);
            const double length = QPointF::dotProduct(way, way);
            const bool isAhead = from ? along > 0 && 2 * along * along >= length : pixel.has_value();
            const double distance = from ? length : way.x();
            if (isAhead && (!next || distance < best)) {
                next = FigurePoint{series, i};
                best = distance;
            }
        }
    if (!next)
        return;
    highlight(placeOf(*next));
    showText(*next);
    setAccessibleDescription(text(placeOf(*next)));
    emit chosen(placeOf(*next));
}

void PointWidget::mouseMoveEvent(QMouseEvent* event) {
    setCursor(under(event->position()) ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

} // namespace secateur
