#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/scatter/scatter_plot.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr double scatterWheelNotch = 120;
constexpr double scatterZoomPerNotch = 0.8;

/// Adds the pressed heads to `heads`. If `heads` contains all of them, removes them.
std::set<HeadId> toggled(std::set<HeadId> heads, const std::set<HeadId>& pressed) {
    const bool removes = std::ranges::includes(heads, pressed);
    for (const HeadId& head : pressed)
        if (removes)
            heads.erase(head);
        else
            heads.insert(head);
    return heads;
}

} // namespace

// ---- mouse

void ScatterPlot::mousePressEvent(QMouseEvent* event) {
    if (m_gesture != Gesture::none)
        return;
    m_from = event->position();
    m_button = event->button();
    m_moved = false;
    if (event->button() == Qt::MiddleButton) {
        m_gesture = Gesture::pan;
        setCursor(Qt::ClosedHandCursor);
    } else if (event->button() == Qt::LeftButton && m_marks) {
        press(event->position(), event->modifiers());
    } else {
        event->ignore();
    }
}

void ScatterPlot::press(QPointF point, Qt::KeyboardModifiers modifiers) {
    const bool lassoKeys = modifiers.testFlag(Qt::ControlModifier) && modifiers.testFlag(Qt::ShiftModifier);
    m_before = m_selection->heads();
    m_activeBefore = m_selection->active();
    m_adds = modifiers.testFlag(Qt::ControlModifier) || modifiers.testFlag(Qt::ShiftModifier);
    m_gesture = lassoKeys || m_tool == Tool::lasso ? Gesture::lasso : Gesture::rectangle;
    m_lasso = QPolygonF({point});
    const auto index = pointAt(point);
    if (m_gesture == Gesture::rectangle && index)
        choose(*index, modifiers);
}

void ScatterPlot::choose(std::size_t index, Qt::KeyboardModifiers modifiers) {
    if (m_scope == Scope::neuron) {
        m_neuron = index;
        return followSelection();
    }
    const std::set<HeadId> pressed = headsOf(index);
    std::set<HeadId> heads = pressed;
    if (modifiers.testFlag(Qt::ControlModifier))
        heads = toggled(m_selection->heads(), pressed);
    else if (modifiers.testFlag(Qt::ShiftModifier))
        heads.insert(m_selection->heads().begin(), m_selection->heads().end());
    const bool isIn = !pressed.empty() && heads.contains(*pressed.begin());
    m_selection->select(heads, Selection::Mode::replace, isIn ? std::optional(*pressed.begin()) : std::nullopt);
}

void ScatterPlot::mouseMoveEvent(QMouseEvent* event) {
    const QPointF point = event->position();
    if (m_gesture == Gesture::pan) {
        pan(point - std::exchange(m_from, point));
        return;
    }
    if (m_gesture != Gesture::none)
        return drag(point);
    const auto index = pointAt(point);
    setCursor(index ? Qt::PointingHandCursor : Qt::ArrowCursor);
    hover(index);
}

/// Continues a drag. A movement shorter than the drag distance of the platform selects nothing.
void ScatterPlot::drag(QPointF point) {
    m_moved = m_moved || (point - m_from).manhattanLength() >= QApplication::startDragDistance();
    if (!m_moved || m_scope == Scope::neuron)
        return;
    if (m_gesture == Gesture::lasso)
        m_lasso << point;
    else
        m_lasso = QPolygonF(QRectF(m_from, point).normalized());
    m_marks->setOutline(m_lasso);
    std::set<HeadId> heads = headsIn(m_lasso);
    if (m_adds)
        heads.insert(m_before.begin(), m_before.end());
    m_selection->select(heads, Selection::Mode::replace);
    replotMarks();
}

void ScatterPlot::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != m_button)
        return;
    const bool isClick = m_gesture == Gesture::rectangle && !m_moved && !m_adds;
    if (isClick && !pointAt(event->position()))
        m_selection->clear();
    finishGesture();
    setCursor(Qt::ArrowCursor);
}

void ScatterPlot::finishGesture() {
    m_gesture = Gesture::none;
    m_lasso.clear();
    if (!m_marks)
        return;
    m_marks->setOutline({});
    replotMarks();
}

void ScatterPlot::mouseDoubleClickEvent(QMouseEvent* event) {
    const auto index = pointAt(event->position());
    const bool selects = m_tool == Tool::select && event->modifiers() == Qt::NoModifier;
    if (event->button() != Qt::LeftButton || !selects)
        mousePressEvent(event);
    else if (index)
        open(*index);
    else
        resetZoom();
}

void ScatterPlot::open(std::size_t index) {
    if (m_scope == Scope::head || m_scope == Scope::kvGroup)
        emit opened(*headsOf(index).begin());
    else
        emit layerOpened(points()->units[index].layer);
}

void ScatterPlot::hover(std::optional<std::size_t> index) {
    const bool isOfHeads = m_scope == Scope::head || m_scope == Scope::kvGroup;
    m_hovered = index;
    if (index && isOfHeads)
        m_selection->hover(*headsOf(*index).begin());
    else
        m_selection->hoverLayer(index ? std::optional(points()->units[*index].layer) : std::nullopt);
    followHover();
}

void ScatterPlot::leaveEvent(QEvent*) {
    hover({});
}

void ScatterPlot::wheelEvent(QWheelEvent* event) {
    zoom(std::pow(scatterZoomPerNotch, event->angleDelta().y() / scatterWheelNotch), event->position());
    if (m_marks)
        hover(pointAt(event->position()));
    event->accept();
}

// ---- keyboard

void ScatterPlot::keyPressEvent(QKeyEvent* event) {
    const bool extends = event->modifiers().testFlag(Qt::ShiftModifier);
    const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (event->key() == Qt::Key_Escape ? escape() : zoomByKey(*event))
        return;
    if (event->matches(QKeySequence::SelectAll))
        selectAll();
    else if (isEnter && currentPoint())
        open(*currentPoint());
    else if (event->key() == Qt::Key_Left)
        moveBy({-1, 0}, extends);
    else if (event->key() == Qt::Key_Right)
        moveBy({1, 0}, extends);
    else if (event->key() == Qt::Key_Up)
        moveBy({0, -1}, extends);
    else if (event->key() == Qt::Key_Down)
        moveBy({0, 1}, extends);
    else
        FigureWidget::keyPressEvent(event);
}

bool ScatterPlot::zoomByKey(const QKeyEvent& event) {
    const QPointF middle = QRectF(rect()).center();
    if (event.matches(QKeySequence::ZoomIn))
        zoom(scatterZoomPerNotch, middle);
    else if (event.matches(QKeySequence::ZoomOut))
        zoom(1 / scatterZoomPerNotch, middle);
    else if (event.key() == Qt::Key_0 && event.modifiers().testFlag(Qt::ControlModifier))
        resetZoom();
    else
        return false;
    return true;
}

/// Cancels the drag if there is one; otherwise removes the preview; otherwise clears the selection.
bool ScatterPlot::escape() {
    const bool drags = m_gesture == Gesture::rectangle || m_gesture == Gesture::lasso;
    if (m_gesture != Gesture::none)
        finishGesture();
    if (drags)
        m_selection->select(m_before, Selection::Mode::replace, m_activeBefore);
    else if (m_masks->preview())
        m_masks->setPreview({});
    else if (!m_selection->heads().empty())
        m_selection->clear();
    else
        return false;
    return true;
}

/// Moves the current point in a direction. If there is none, chooses the point nearest to the middle.
void ScatterPlot::moveBy(QPoint direction, bool extend) {
    if (const auto index = next(direction))
        choose(*index, extend ? Qt::ShiftModifier : Qt::NoModifier);
}

/// The nearest point in a direction. Points within 45 degrees of the direction are preferred. If there is no current
/// point, the point nearest to the middle.
std::optional<std::size_t> ScatterPlot::next(QPoint direction) const {
    constexpr double aside = 100; // factor that ranks points outside of the 45 degrees last
    const auto current = currentPoint();
    const QPointF from = current ? m_pixels[*current] : QRectF(rect()).center();
    std::optional<std::size_t> found;
    double best = 0;
    for (std::size_t i = 0; i < m_pixels.size(); ++i) {
        const QPointF apart = m_pixels[i] - from;
        const double along = QPointF::dotProduct(apart, direction);
        const double across = std::abs(apart.x() * direction.y()) + std::abs(apart.y() * direction.x());
        if (i == current || (current && !(along > 0)) || !std::isfinite(along + across))
            continue;
        const double cost = !current ? std::hypot(along, across) : (along + 2 * across) * (across > along ? aside : 1);
        if (!found || cost < best) {
            found = i;
            best = cost;
        }
    }
    return found;
}

} // namespace secateur
