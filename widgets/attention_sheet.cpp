#include "widgets/attention_sheet.h"

#include "analysis/statistics.h"
#include "analysis/text.h"
#include "widgets/colour_maps.h"
#include "widgets/plot_theme.h"
#include "widgets/selection.h"

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
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
    setAccessibleName(tr("Attention maps in small"));
    connect(selection, &Selection::changed, this, &AttentionSheet::follow);
    connect(selection, &Selection::hoverChanged, this, &AttentionSheet::follow);
}

void AttentionSheet::setLayers(const ModelSpec& spec, const std::vector<int>& layers) {
    m_spec = spec;
    m_layers = layers;
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
    const auto row = std::ranges::find(m_layers, head.layer) - m_layers.begin();
    return {labelWidth() + head.head * step(), labelHeight() + static_cast<int>(row) * step(), m_side, m_side};
}

std::optional<HeadId> AttentionSheet::headAt(QPointF point) const {
    for (int layer : m_layers)
        for (int head = 0; head < m_spec.layers[static_cast<std::size_t>(layer)].heads; ++head)
            if (cellRect({layer, head}).contains(point.toPoint()))
                return HeadId{layer, head};
    return std::nullopt;
}

void AttentionSheet::paintEvent(QPaintEvent* event) {
    QPainter painter(this);
    paintLabels(painter);
    for (int layer : m_layers)
        for (int head = 0; head < m_spec.layers[static_cast<std::size_t>(layer)].heads; ++head)
            if (const QRect cell = cellRect({layer, head}); cell.adjusted(-2, -2, 2, 2).intersects(event->rect()))
                paintCell(painter, {layer, head}, cell);
}

void AttentionSheet::paintLabels(QPainter& painter) const {
    painter.setPen(themeOf(*this).muted);
    for (int head = 0; head < m_spec.maxHeads() && !m_layers.empty(); ++head) {
        const QRect cell = cellRect({m_layers.front(), head});
        painter.drawText(QRect(cell.left(), cell.top() - labelHeight(), cell.width(), labelHeight()), Qt::AlignCenter,
                         QString("H%1").arg(head));
    }
    if (m_columns > 0)
        return;
    for (int layer : m_layers) {
        const QRect first = cellRect({layer, 0});
        painter.drawText(QRect(0, first.top(), labelWidth() - gap, first.height()), Qt::AlignRight | Qt::AlignVCenter,
                         QString("L%1").arg(layer));
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
    const bool isActive = m_selection->active() == head;
    if (isActive || m_selection->heads().contains(head) || m_selection->hovered() == head) {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(
            theme.pen(m_selection->hovered() == head && !isActive ? theme.text : theme.accent, isActive ? 2 : 1));
        painter.drawRect(cell.adjusted(-1, -1, 0, 0));
    }
}

void AttentionSheet::follow() {
    update();
}

bool AttentionSheet::event(QEvent* event) {
    if (event->type() == QEvent::PaletteChange)
        m_pictures.clear();
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    if (const std::optional<HeadId> head = headAt(help->pos()))
        QToolTip::showText(help->globalPos(), QString::fromStdString(headName(head->layer, head->head)), this);
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

void AttentionSheet::leaveEvent(QEvent*) {
    m_selection->hover({});
}

} // namespace secateur
