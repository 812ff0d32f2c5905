#include "widgets/attention/attention_sheet.h"

#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "widgets/document/head_filter.h"
#include "widgets/document/selection.h"
#include "widgets/plot/plot_axes.h"
#include "widgets/plot/plot_scale.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollArea>
#include <QToolTip>

#include <algorithm>

namespace secateur {

namespace {

constexpr double brightestPercent = 99;

QPixmap pictureOf(const AttentionThumbnail& thumbnail, const QString& colours, QRgb absent) {
    std::vector<double> visible;
    std::ranges::copy_if(thumbnail.values, std::back_inserter(visible), [](float value) { return value > 0; });
    const double brightest = visible.empty() ? 1 : percentile(visible, brightestPercent);
    const ColourMap& map = colourMap(colours);
    QImage image(thumbnail.side, thumbnail.side, QImage::Format_RGB32);
    auto value = thumbnail.values.begin();
    for (int row = 0; row < thumbnail.side; ++row)
        for (int column = 0; column < thumbnail.side; ++column, ++value) {
            const double position = std::min(*value / brightest, 1.0);
            const auto index = static_cast<std::size_t>(position * static_cast<double>(map.size() - 1));
            image.setPixel(column, row, *value > 0 ? map[index] : absent);
        }
    return QPixmap::fromImage(image);
}

} // namespace

AttentionSheet::AttentionSheet(Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_selection(selection) {
    setMouseTracking(true);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Thumbnails of attention maps"));
    setWhatsThis(
        tr("The attention maps of several heads in small. A click or the arrows select a head, a double click or Enter "
           "shows its map."));
    connect(selection, &Selection::changed, this, qOverload<>(&AttentionSheet::update));
    connect(selection, &Selection::hoverChanged, this, &AttentionSheet::followHover);
}

void AttentionSheet::setFilter(const HeadFilter* filter) {
    m_filter = filter;
    connect(filter, &HeadFilter::changed, this, qOverload<>(&AttentionSheet::update));
    update();
}

void AttentionSheet::setLayers(const ModelSpec& spec, const std::vector<int>& layers) {
    m_spec = spec;
    m_layers = layers;
    m_rows.assign(spec.layers.size(), -1);
    for (std::size_t row = 0; row < layers.size(); ++row)
        m_rows[static_cast<std::size_t>(layers[row])] = static_cast<int>(row);
    m_read.clear();
    m_thumbnails.clear();
    m_pictures.clear();
    setFixedSize(sizeHint());
    update();
}

void AttentionSheet::setSide(int side) {
    m_side = side;
    setFixedSize(sizeHint());
    update();
}

void AttentionSheet::setColours(const QString& map) {
    m_colours = map;
    m_pictures.clear();
    update();
}

void AttentionSheet::setThumbnail(const AttentionThumbnail& thumbnail) {
    m_pictures.erase(thumbnail.head);
    m_thumbnails.insert_or_assign(thumbnail.head, thumbnail);
    update(cellRect(thumbnail.head));
}

void AttentionSheet::setRead(int layer) {
    m_read.insert(layer);
    update();
}

void AttentionSheet::setColumns(int columns) {
    m_columns = columns;
    setFixedSize(sizeHint());
    update();
}

int AttentionSheet::labelWidth() const {
    return m_columns > 0 ? gap : fontMetrics().horizontalAdvance("L888") + 2 * gap;
}

int AttentionSheet::labelHeight() const {
    return fontMetrics().height() + gap;
}

QSize AttentionSheet::sizeHint() const {
    const int heads = m_spec.maxHeads();
    if (m_columns > 0)
        return {labelWidth() + m_columns * step(), (heads + m_columns - 1) / m_columns * (labelHeight() + step())};
    return {labelWidth() + heads * step(), labelHeight() + static_cast<int>(m_layers.size()) * step()};
}

QRect AttentionSheet::cellRect(HeadId head) const {
    if (m_columns > 0)
        return {labelWidth() + head.head % m_columns * step(),
                labelHeight() + head.head / m_columns * (labelHeight() + step()), m_side, m_side};
    return {labelWidth() + head.head * step(), labelHeight() + rowOf(head.layer) * step(), m_side, m_side};
}

std::optional<HeadId> AttentionSheet::headAt(QPointF point) const {
    const int across = (static_cast<int>(point.x()) - labelWidth()) / step();
    const int down = (static_cast<int>(point.y()) - labelHeight()) / (m_columns > 0 ? labelHeight() + step() : step());
    const QPoint corner = headerCorner();
    if (m_layers.empty() || point.x() < corner.x() + labelWidth() || point.y() < corner.y() + labelHeight())
        return std::nullopt;
    const bool isWrapped = m_columns > 0;
    if (isWrapped ? across >= m_columns : down >= static_cast<int>(m_layers.size()))
        return std::nullopt;
    const HeadId head = isWrapped ? HeadId{m_layers.front(), down * m_columns + across}
                                  : HeadId{m_layers[static_cast<std::size_t>(down)], across};
    const bool exists = head.head < m_spec.layers[static_cast<std::size_t>(head.layer)].heads;
    return exists && cellRect(head).contains(point.toPoint()) ? std::optional(head) : std::nullopt;
}

int AttentionSheet::rowOf(int layer) const {
    const auto index = static_cast<std::size_t>(layer);
    return index < m_rows.size() ? m_rows[index] : -1;
}

void AttentionSheet::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    for (int layer : m_layers)
        for (int head = 0; head < m_spec.layers[static_cast<std::size_t>(layer)].heads; ++head)
            if (const QRect cell = cellRect({layer, head}); cell.adjusted(-2, -2, 2, 2).intersects(event->rect()))
                paintCell(painter, {layer, head}, cell);
    paintLabels(painter);
}

/// Where the headers begin: with all heads of the model they stay in sight while the maps scroll.
QPoint AttentionSheet::headerCorner() const {
    return m_columns > 0 ? QPoint() : visibleRegion().boundingRect().topLeft();
}

void AttentionSheet::moveEvent(QMoveEvent* event) {
    QWidget::moveEvent(event);
    if (m_columns == 0)
        update(); // the headers
}

void AttentionSheet::paintLabels(QPainter& painter) const {
    const PlotTheme theme = themeOf(*this);
    const QPoint corner = headerCorner();
    const int every = fontMetrics().horizontalAdvance(QString("H%1 ").arg(m_spec.maxHeads())) / step() + 1;
    if (m_columns == 0) {
        painter.fillRect(QRect(corner, QSize(width(), labelHeight())), theme.background);
        painter.fillRect(QRect(corner, QSize(labelWidth() - gap / 2, height())), theme.background);
    }
    painter.setPen(theme.muted);
    for (int head = 0; head < m_spec.maxHeads() && !m_layers.empty(); head += every) {
        const QRect cell = cellRect({m_layers.front(), head});
        const int top = m_columns > 0 ? cell.top() - labelHeight() : corner.y();
        if (cell.left() >= corner.x() + labelWidth() - gap)
            painter.drawText(QRect(cell.center().x() - every * step() / 2, top, every * step(), labelHeight()),
                             Qt::AlignCenter, QString("H%1").arg(head));
    }
    if (m_columns == 0)
        paintLayerLabels(painter, corner, theme);
}

void AttentionSheet::paintLayerLabels(QPainter& painter, const QPoint& corner, const PlotTheme& theme) const {
    const int every = fontMetrics().height() / step() + 1;
    for (std::size_t row = 0; row < m_layers.size(); row += static_cast<std::size_t>(every)) {
        const int layer = m_layers[row];
        const QRect first = cellRect({layer, 0});
        if (first.center().y() < corner.y() + labelHeight())
            continue;
        painter.setPen(m_selection->hoveredLayer() == layer ? theme.text : theme.muted);
        painter.drawText(QRect(corner.x(), first.center().y() - every * step() / 2, labelWidth() - gap, every * step()),
                         Qt::AlignRight | Qt::AlignVCenter, QString("L%1").arg(layer));
    }
}

void AttentionSheet::paintCell(QPainter& painter, HeadId head, const QRect& cell) const {
    const PlotTheme theme = themeOf(*this);
    const auto found = m_thumbnails.find(head);
    if (found == m_thumbnails.end()) {
        painter.fillRect(cell, theme.absent);
        if (m_read.contains(head.layer)) {
            painter.setPen(theme.muted);
            painter.drawText(cell, Qt::AlignCenter, tr("cut"));
        }
    } else {
        QPixmap& picture = m_pictures[head];
        if (picture.isNull())
            picture = pictureOf(found->second, m_colours, theme.absent.rgb());
        painter.drawPixmap(cell, picture);
    }
    if (m_filter && !m_filter->passes(head))
        painter.fillRect(cell, theme.veil());
    const bool isActive = m_selection->active() == head;
    const bool isPointedAt = m_pointedAt.contains(head);
    if (isActive || m_selection->heads().contains(head) || isPointedAt) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(theme.pen(isPointedAt && !isActive ? theme.text : theme.accent, isActive ? 2 : 1));
        painter.drawRect(cell.adjusted(-1, -1, 0, 0));
    }
}

/// The hovered head. If another view hovers a whole layer, all heads of this layer.
std::set<HeadId> AttentionSheet::pointedAt() const {
    std::set<HeadId> heads;
    const std::optional<int> layer = m_selection->hoveredLayer();
    if (!layer || rowOf(*layer) < 0)
        return heads;
    if (const std::optional<HeadId> head = m_selection->hovered())
        return {*head};
    for (int head = 0; head < m_spec.layers[static_cast<std::size_t>(*layer)].heads; ++head)
        heads.insert({*layer, head});
    return heads;
}

/// Repaints only the cells whose hover state changed.
void AttentionSheet::followHover() {
    std::set<HeadId> changed = pointedAt();
    changed.swap(m_pointedAt);
    changed.insert(m_pointedAt.begin(), m_pointedAt.end());
    for (const HeadId& head : changed) {
        const QRect cell = cellRect(head);
        update(m_columns > 0
                   ? cell.adjusted(-2, -2, 2, 2)
                   : cell.adjusted(-2, -2, 2, 2) | QRect(headerCorner().x(), cell.top(), labelWidth(), cell.height()));
    }
}

bool AttentionSheet::event(QEvent* event) {
    if (event->type() == QEvent::PaletteChange)
        m_pictures.clear();
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const std::optional<HeadId> head = headAt(help->pos()))
        emit toolTipRequested(help->globalPos(), *head);
    else
        QToolTip::hideText();
    return true;
}

void AttentionSheet::mouseMoveEvent(QMouseEvent* event) {
    m_selection->hover(headAt(event->position()));
}

void AttentionSheet::mousePressEvent(QMouseEvent* event) {
    const std::optional<HeadId> head = headAt(event->position());
    if (!head || event->button() != Qt::LeftButton)
        return;
    const bool adds = event->modifiers() & Qt::ControlModifier;
    m_selection->select({*head}, adds ? Selection::Mode::toggle : Selection::Mode::replace, head);
}

void AttentionSheet::mouseDoubleClickEvent(QMouseEvent* event) {
    if (const std::optional<HeadId> head = headAt(event->position()))
        emit opened(*head);
}

void AttentionSheet::keyPressEvent(QKeyEvent* event) {
    const std::optional<HeadId> active = m_selection->active();
    switch (event->key()) {
    case Qt::Key_Left:
        return moveBy(-1, 0);
    case Qt::Key_Right:
        return moveBy(1, 0);
    case Qt::Key_Up:
        return moveBy(0, -1);
    case Qt::Key_Down:
        return moveBy(0, 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        if (active && rowOf(active->layer) >= 0)
            return emit opened(*active);
        break;
    default:
        break;
    }
    QWidget::keyPressEvent(event);
}

/// Selects the neighbour of the active head and scrolls to it; the first head if the active one is not on the sheet.
void AttentionSheet::moveBy(int right, int down) {
    if (m_layers.empty())
        return;
    const auto heads = [this](int layer) { return m_spec.layers[static_cast<std::size_t>(layer)].heads; };
    HeadId to{m_layers.front(), 0};
    if (const std::optional<HeadId> active = m_selection->active(); active && rowOf(active->layer) >= 0) {
        const int row = rowOf(active->layer) + (m_columns > 0 ? 0 : down);
        to.layer = m_layers[static_cast<std::size_t>(std::clamp(row, 0, static_cast<int>(m_layers.size()) - 1))];
        to.head = active->head + right + down * m_columns;
    }
    if (to.head < 0 || to.head >= heads(to.layer))
        return;
    m_selection->select({to}, Selection::Mode::replace, to);
    const QRect cell = cellRect(to);
    if (auto* area = qobject_cast<QScrollArea*>(parentWidget() ? parentWidget()->parentWidget() : nullptr))
        area->ensureVisible(cell.center().x(), cell.center().y(), m_side / 2 + labelWidth(),
                            m_side / 2 + labelHeight());
}

void AttentionSheet::wheelEvent(QWheelEvent* event) {
    constexpr double notch = 120;
    if (m_columns == 0 && event->modifiers().testFlag(Qt::ControlModifier))
        emit zoomWanted(event->angleDelta().y() / notch, event->position());
    else
        QWidget::wheelEvent(event);
}

void AttentionSheet::leaveEvent(QEvent*) {
    m_selection->hover({});
}

} // namespace secateur
