#include "widgets/weights/circuit_sheet.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/selection.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/weights/unit_edges.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollArea>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace secateur {

CircuitSheet::CircuitSheet(MaskEditor* masks, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_masks(masks)
    , m_selection(selection) {
    setMouseTracking(true);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Thumbnails of circuits"));
    setWhatsThis(
        tr("The circuits of the layer's heads, and of other selected heads: query-key on the left, output-value "
           "on the right. Each has colours of its own. A click or the arrows select a head."));
    connect(selection, &Selection::changed, this, qOverload<>(&CircuitSheet::update));
    connect(selection, &Selection::hoverChanged, this, qOverload<>(&CircuitSheet::update));
    for (const auto changed : {&MaskEditor::maskChanged, &MaskEditor::previewChanged, &MaskEditor::listChanged})
        connect(masks, changed, this, qOverload<>(&CircuitSheet::update));
}

void CircuitSheet::setHeads(const std::vector<HeadId>& heads, int layer) {
    m_heads = heads;
    m_layer = layer;
    setFixedSize(sizeHint());
    update();
}

void CircuitSheet::setThumbnail(HeadId head, const CircuitThumbnails& thumbnails) {
    m_thumbnails.insert_or_assign(head, thumbnails);
    update();
}

void CircuitSheet::clear() {
    m_thumbnails.clear();
    update();
}

int CircuitSheet::labelHeight() const {
    return fontMetrics().height() + 2;
}

QSize CircuitSheet::sizeHint() const {
    return {2 * side + 3 * gap, gap + static_cast<int>(m_heads.size()) * (labelHeight() + side + gap)};
}

QRect CircuitSheet::cellRect(std::size_t index) const {
    const int top = gap + static_cast<int>(index) * (labelHeight() + side + gap) + labelHeight();
    return {gap, top, 2 * side + gap, side};
}

QRect CircuitSheet::cellRect(HeadId head) const {
    const auto found = std::ranges::find(m_heads, head);
    return found == m_heads.end() ? QRect() : cellRect(static_cast<std::size_t>(found - m_heads.begin()));
}

std::optional<HeadId> CircuitSheet::headAt(QPoint point) const {
    for (std::size_t index = 0; index < m_heads.size(); ++index)
        if (cellRect(index).adjusted(0, -labelHeight(), 0, 0).contains(point))
            return m_heads[index];
    return std::nullopt;
}

void CircuitSheet::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    for (std::size_t index = 0; index < m_heads.size(); ++index)
        if (cellRect(index).adjusted(-2, -labelHeight(), 2, 2).intersects(event->rect()))
            paintHead(painter, index);
}

void CircuitSheet::paintHead(QPainter& painter, std::size_t index) const {
    const PlotTheme theme = themeOf(*this);
    const HeadId head = m_heads[index];
    const QRect cell = cellRect(index);
    const Hatch hatch = unitHatch(*m_masks, {CutUnit::head, head.layer, head.head});
    const auto found = m_thumbnails.find(head);
    const QString name =
        head.layer == m_layer ? QString("H%1").arg(head.head) : QString::fromStdString(headName(head.layer, head.head));
    const QRect label(cell.left(), cell.top() - labelHeight(), cell.width(), labelHeight());
    painter.setPen(m_selection->heads().contains(head) || m_selection->hovered() == head ? theme.text : theme.muted);
    painter.drawText(label, Qt::AlignLeft | Qt::AlignVCenter,
                     hatch == Hatch::cut || hatch == Hatch::both ? tr("%1, cut").arg(name) : name);
    if (found != m_thumbnails.end() && !std::isnan(found->second.norm))
        painter.drawText(label, Qt::AlignRight | Qt::AlignVCenter,
                         QString::fromStdString(shownNumber(found->second.norm)));
    int left = cell.left();
    for (const auto picture : {&CircuitThumbnails::queryKey, &CircuitThumbnails::outputValue}) {
        const QRect place(left, cell.top(), side, side);
        painter.fillRect(place, theme.absent);
        if (found != m_thumbnails.end())
            painter.drawImage(place, found->second.*picture);
        if (hatch != Hatch::none)
            painter.fillRect(place, hatchBrush(hatch, side, theme, devicePixelRatioF()));
        left += side + gap;
    }
    const bool isActive = m_selection->active() == head;
    if (isActive || m_selection->heads().contains(head) || m_selection->hovered() == head) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(theme.pen(m_selection->heads().contains(head) ? theme.accent : theme.text, isActive ? 2 : 1));
        painter.drawRect(cell.adjusted(-1, -1, 0, 0));
    }
}

bool CircuitSheet::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const std::optional<HeadId> head = headAt(help->pos());
    if (const auto found = head ? m_thumbnails.find(*head) : m_thumbnails.end(); found != m_thumbnails.end())
        QToolTip::showText(help->globalPos(),
                           tr("%1: norm of the query-key circuit %2")
                               .arg(QString::fromStdString(headName(head->layer, head->head)),
                                    QString::fromStdString(shownNumber(found->second.norm, 5))),
                           this);
    else
        QToolTip::hideText();
    return true;
}

void CircuitSheet::mousePressEvent(QMouseEvent* event) {
    const std::optional<HeadId> head = headAt(event->pos());
    if (!head || event->button() != Qt::LeftButton)
        return;
    const bool adds = event->modifiers() & Qt::ControlModifier;
    m_selection->select({*head}, adds ? Selection::Mode::toggle : Selection::Mode::replace, head);
}

void CircuitSheet::mouseMoveEvent(QMouseEvent* event) {
    m_selection->hover(headAt(event->pos()));
}

void CircuitSheet::leaveEvent(QEvent*) {
    m_selection->hover({});
}

void CircuitSheet::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Up:
    case Qt::Key_Left:
        return moveBy(-1);
    case Qt::Key_Down:
    case Qt::Key_Right:
        return moveBy(1);
    case Qt::Key_Home:
        return moveBy(-static_cast<int>(m_heads.size()));
    case Qt::Key_End:
        return moveBy(static_cast<int>(m_heads.size()));
    default:
        QWidget::keyPressEvent(event);
    }
}

void CircuitSheet::moveBy(int steps) {
    if (m_heads.empty())
        return;
    const auto active = m_selection->active() ? std::ranges::find(m_heads, *m_selection->active()) : m_heads.end();
    const int last = static_cast<int>(m_heads.size()) - 1;
    const int from = active == m_heads.end() ? (steps > 0 ? -1 : last + 1) : static_cast<int>(active - m_heads.begin());
    const HeadId to = m_heads[static_cast<std::size_t>(std::clamp(from + steps, 0, last))];
    m_selection->select({to}, Selection::Mode::replace, to);
    revealActive();
}

void CircuitSheet::revealActive() {
    const auto reveal = [this] {
        const QRect cell = m_selection->active() ? cellRect(*m_selection->active()) : QRect();
        if (auto* area = qobject_cast<QScrollArea*>(parentWidget() ? parentWidget()->parentWidget() : nullptr);
            area && !cell.isNull())
            area->ensureVisible(cell.center().x(), cell.center().y(), 0, side);
    };
    QMetaObject::invokeMethod(this, reveal, Qt::QueuedConnection);
}

} // namespace secateur
