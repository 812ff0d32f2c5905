// Mouse and keyboard of MatrixMap.

#include "widgets/weights/matrix_map.h"

#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr double wheelTurn = 120;
constexpr double pixelsPerTurn = 60;
constexpr double zoomStep = 1.25;

} // namespace

void MatrixMap::resizeEvent(QResizeEvent*) {
    const bool showedAll = showsAll();
    arrange();
    m_scale = showedAll ? fittingScale() : m_scale.expandedTo(fittingScale());
    settle();
}

void MatrixMap::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    emit viewChanged();
}

void MatrixMap::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::FontChange)
        return;
    arrange();
    m_scale = m_scale.expandedTo(fittingScale());
    settle();
}

void MatrixMap::mouseMoveEvent(QMouseEvent* event) {
    if (event->buttons() & (Qt::LeftButton | Qt::MiddleButton)) {
        const double moved = (event->position() - m_pressed).manhattanLength();
        m_isDragging = m_isDragging || moved >= QApplication::startDragDistance();
        if (m_isDragging)
            pan(event->position() - std::exchange(m_lastPoint, event->position()));
    }
    setCursorCell(cellAt(event->position()), false);
}

void MatrixMap::mousePressEvent(QMouseEvent* event) {
    m_pressed = m_lastPoint = event->position();
    m_isDragging = false;
}

void MatrixMap::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() == Qt::LeftButton && !std::exchange(m_isDragging, false))
        click(event->position(), event->modifiers());
}

void MatrixMap::mouseDoubleClickEvent(QMouseEvent*) {
    m_isDragging = true; // its release is not another click
    resetZoom();
}

void MatrixMap::leaveEvent(QEvent*) {
    if (!m_isKeyCursor)
        setCursorCell({}, false);
}

void MatrixMap::wheelEvent(QWheelEvent* event) {
    const QPointF turns = QPointF(event->angleDelta()) / wheelTurn;
    if (event->modifiers() & Qt::ControlModifier)
        zoomAbout(std::pow(zoomStep, turns.y()), event->position());
    else if (event->modifiers() & Qt::ShiftModifier)
        pan({turns.y() * pixelsPerTurn, 0});
    else
        pan(turns * pixelsPerTurn);
    setCursorCell(cellAt(event->position()), false);
    event->accept();
}

void MatrixMap::keyPressEvent(QKeyEvent* event) {
    const CellWindow seen = visibleCells();
    const std::int64_t step = event->modifiers() & Qt::ShiftModifier ? 10 : 1;
    switch (event->key()) {
    case Qt::Key_Left:
        return moveBy(0, -step);
    case Qt::Key_Right:
        return moveBy(0, step);
    case Qt::Key_Up:
        return moveBy(-step, 0);
    case Qt::Key_Down:
        return moveBy(step, 0);
    case Qt::Key_PageUp:
        return moveBy(-std::max<std::int64_t>(1, seen.rows / 2), 0);
    case Qt::Key_PageDown:
        return moveBy(std::max<std::int64_t>(1, seen.rows / 2), 0);
    case Qt::Key_Home:
        return moveBy(event->modifiers() & Qt::ControlModifier ? -m_rows : 0, -m_columns);
    case Qt::Key_End:
        return moveBy(event->modifiers() & Qt::ControlModifier ? m_rows : 0, m_columns);
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoom(zoomStep);
    case Qt::Key_Minus:
        return zoom(1 / zoomStep);
    case Qt::Key_0:
        return resetZoom();
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (m_cursor)
            return clickAt(*m_cursor, event->modifiers());
        break;
    default:
        break;
    }
    QWidget::keyPressEvent(event);
}

} // namespace secateur
