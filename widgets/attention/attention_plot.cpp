#include "widgets/attention/attention_plot.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr double wheelNotch = 120;
constexpr double pixelsPerNotch = 60;
constexpr double zoomPerNotch = 0.8;
constexpr double widestFitting = 28; ///< pixels to a cell: short texts leave room rather than grow without end
constexpr double widestCell = 64;

} // namespace

AttentionPlot::AttentionPlot(QWidget* parent)
    : QWidget(parent) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(240, 160);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    setAccessibleName(tr("Attention map of a head"));
}

void AttentionPlot::setTokens(const QStringList& tokens) {
    m_tokens = tokens;
    m_map.reset();
    m_hovered.reset();
    arrange();
    resetZoom();
    emit hoverChanged();
}

void AttentionPlot::setMap(std::shared_ptr<const MapPyramid> map, const ColourRange& range, const QString& otherwise) {
    m_map = std::move(map);
    m_range = range;
    m_otherwise = otherwise;
    m_picture = {};
    update();
    emit hoverChanged(); // the cell is the same, its value another
}

void AttentionPlot::arrange() {
    const int labels = widthOfLabels();
    m_area = rect().adjusted(labels, labels, -widthBesideMap() - gap, -gap);
    m_scale = std::max(m_scale, fittingScale());
    clampView();
    m_picture = {};
    update();
}

double AttentionPlot::fittingScale() const {
    const int shorter = std::max(std::min(m_area.width(), m_area.height()), 1);
    return std::min(shorter / std::max<double>(static_cast<double>(m_tokens.size()), 1), widestFitting);
}

void AttentionPlot::resetZoom() {
    m_scale = fittingScale();
    m_first = {};
    clampView();
    m_picture = {};
    update();
}

void AttentionPlot::clampView() {
    const auto count = static_cast<double>(m_tokens.size());
    m_first.setX(std::clamp(m_first.x(), 0.0, std::max(count - m_area.width() / m_scale, 0.0)));
    m_first.setY(std::clamp(m_first.y(), 0.0, std::max(count - m_area.height() / m_scale, 0.0)));
}

void AttentionPlot::zoom(double factor, QPointF about) {
    const QPointF offset = about - m_area.topLeft();
    const QPointF fixed = m_first + offset / m_scale;
    m_scale = std::clamp(m_scale * factor, fittingScale(), std::max(widestCell, fittingScale()));
    m_first = fixed - offset / m_scale;
    pan({});
}

void AttentionPlot::pan(QPointF pixels) {
    m_first -= pixels / m_scale;
    clampView();
    m_picture = {};
    update();
}

std::optional<AttentionCell> AttentionPlot::cellAt(QPointF point) const {
    const QPointF place = m_first + (point - m_area.topLeft()) / m_scale;
    const AttentionCell cell{static_cast<int>(std::floor(place.y())), static_cast<int>(std::floor(place.x()))};
    const auto exists = [this](int token) { return token >= 0 && token < m_tokens.size(); };
    if (!m_area.contains(point.toPoint()) || !exists(cell.query) || !exists(cell.key))
        return std::nullopt;
    return cell;
}

QRect AttentionPlot::cellRect(AttentionCell cell) const {
    const auto pixel = [this](double token) { return static_cast<int>(std::lround(token * m_scale)); };
    const QPoint from(pixel(cell.key - m_first.x()), pixel(cell.query - m_first.y()));
    const QPoint to(pixel(cell.key + 1 - m_first.x()), pixel(cell.query + 1 - m_first.y()));
    return {m_area.topLeft() + from, QSize(std::max(to.x() - from.x(), 1), std::max(to.y() - from.y(), 1))};
}

void AttentionPlot::setHovered(std::optional<AttentionCell> cell) {
    if (cell == m_hovered)
        return;
    m_hovered = cell;
    update();
    emit hoverChanged();
}

void AttentionPlot::reveal(AttentionCell cell) {
    const double width = m_area.width() / m_scale;
    const double height = m_area.height() / m_scale;
    m_first.setX(std::clamp(m_first.x(), cell.key + 1 - width, static_cast<double>(cell.key)));
    m_first.setY(std::clamp(m_first.y(), cell.query + 1 - height, static_cast<double>(cell.query)));
    pan({});
}

void AttentionPlot::resizeEvent(QResizeEvent*) {
    const bool showedAll = m_scale <= fittingScale();
    arrange();
    if (showedAll)
        resetZoom();
}

void AttentionPlot::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        arrange();
}

void AttentionPlot::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & (Qt::LeftButton | Qt::MiddleButton))
        pan(event->position() - std::exchange(m_lastPoint, event->position()));
    setHovered(m_map ? cellAt(event->position()) : std::nullopt);
}

void AttentionPlot::mousePressEvent(QMouseEvent* event) {
    m_lastPoint = event->position();
}

void AttentionPlot::mouseDoubleClickEvent(QMouseEvent*) {
    resetZoom();
}

void AttentionPlot::leaveEvent(QEvent*) {
    setHovered({});
}

void AttentionPlot::wheelEvent(QWheelEvent* event) {
    const QPointF notches = QPointF(event->angleDelta()) / wheelNotch;
    if (event->modifiers() & Qt::ControlModifier)
        zoom(std::pow(zoomPerNotch, -notches.y()), event->position());
    else if (event->modifiers() & Qt::ShiftModifier)
        pan({notches.y() * pixelsPerNotch, 0});
    else
        pan(notches * pixelsPerNotch);
    setHovered(m_map ? cellAt(event->position()) : std::nullopt);
    event->accept();
}

void AttentionPlot::keyPressEvent(QKeyEvent* event) {
    const auto last = static_cast<int>(m_tokens.size()) - 1;
    AttentionCell cell = m_hovered.value_or(AttentionCell());
    switch (event->key()) {
    case Qt::Key_Left:
        --cell.key;
        break;
    case Qt::Key_Right:
        ++cell.key;
        break;
    case Qt::Key_Up:
        --cell.query;
        break;
    case Qt::Key_Down:
        ++cell.query;
        break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoom(1 / zoomPerNotch, QRectF(m_area).center());
    case Qt::Key_Minus:
        return zoom(zoomPerNotch, QRectF(m_area).center());
    case Qt::Key_0:
        return resetZoom();
    default:
        return QWidget::keyPressEvent(event);
    }
    if (!m_map || last < 0)
        return;
    cell = {std::clamp(cell.query, 0, last), std::clamp(cell.key, 0, last)};
    reveal(cell);
    setHovered(cell);
}

} // namespace secateur
