#include "widgets/attention/attention_plot.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/text.h"
#include "widgets/attention/map_picture.h"
#include "widgets/plot/plot_axes.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QTimer>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace secateur {

namespace {

constexpr double wheelNotch = 120;
constexpr double pixelsPerNotch = 60;
constexpr double zoomPerNotch = 0.8;
constexpr double widestFitting = 28; ///< largest size of a cell in pixels when the whole map fits
constexpr double widestCell = 64;
constexpr int zoomingMs = 100;

constexpr int labelCharacters = 12;
constexpr int colourBarWidth = 14;
constexpr int barLabelCharacters = 8;
constexpr int smallestLabel = 9; ///< pixels

} // namespace

AttentionPlot::AttentionPlot(QWidget* parent)
    : QWidget(parent)
    , m_zooming(new QTimer(this)) {
    m_zooming->setSingleShot(true);
    m_zooming->setInterval(zoomingMs);
    connect(m_zooming, &QTimer::timeout, this, &AttentionPlot::requestPart);
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setMinimumSize(240, 160);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::Base);
    setAccessibleName(tr("Attention map of a head"));
    setWhatsThis(tr("The attention probabilities: queries from top to bottom, keys from left to right. The arrows "
                    "move from cell to cell. Ctrl+wheel zooms."));
}

void AttentionPlot::setTokens(const QStringList& tokens) {
    m_tokens = tokens;
    m_map.reset();
    m_part.reset();
    m_hovered.reset();
    arrange();
    resetZoom();
    emit hoverChanged();
}

void AttentionPlot::setMap(std::shared_ptr<const MapPyramid> map, const ColourRange& range, const QString& reason) {
    if (m_map != map)
        m_part.reset();
    m_map = std::move(map);
    m_range = range;
    m_reason = reason;
    m_picture = {};
    update();
    emit hoverChanged(); // the pointer is on the same cell, but the cell's value changed
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

// ---- picture

/// The image of the part of the map that is on screen. It is drawn once and kept until m_picture is cleared.
const QImage& AttentionPlot::picture() {
    const qreal ratio = devicePixelRatioF();
    const QSize size = m_area.size() * ratio;
    if (!m_picture.isNull() && m_picture.size() == size)
        return m_picture;
    m_picture = QImage(size, QImage::Format_RGB32);
    m_picture.setDevicePixelRatio(ratio);
    const PlotTheme theme = themeOf(*this);
    m_picture.fill(theme.background);
    const MapView view{m_first, 1 / (m_scale * ratio)};
    const MapPyramid::Level& level = m_map->level(view.cellsPerPixel);
    paintCells(m_picture, view, level.values, {0, m_map->side(), 0, m_map->side(), level.cells}, m_range,
               theme.absent.rgb());
    if (level.cells > std::max(view.cellsPerPixel, 1.0)) {
        if (m_part)
            paintCells(m_picture, view, m_part->values, m_part->window, m_range, theme.absent.rgb());
        m_zooming->start();
    }
    return m_picture;
}

/// Requests the visible part of a reduced map, with a margin for the next movement.
void AttentionPlot::requestPart() {
    if (!m_map)
        return;
    constexpr double margin = 0.25;
    const qreal ratio = devicePixelRatioF();
    const MapView view{m_first, 1 / (m_scale * ratio)};
    const MapWindow visible = windowOf(view, m_area.size() * ratio, m_map->side());
    if (!m_part || m_part->window.cells != visible.cells || !covers(m_part->window, visible))
        emit partWanted(windowOf(view, m_area.size() * ratio, m_map->side(), margin));
}

void AttentionPlot::setPart(std::shared_ptr<const AttentionPart> part) {
    m_part = std::move(part);
    m_picture = {};
    update();
    emit hoverChanged();
}

AttentionPlot::Value AttentionPlot::valueAt(AttentionCell cell) const {
    if (m_part && m_part->window.cells < m_map->cells() && covers(m_part->window, {cell.query, 1, cell.key, 1, 1})) {
        const MapWindow& window = m_part->window;
        const int row = (cell.query - window.firstQuery) / window.cells;
        const int column = (cell.key - window.firstKey) / window.cells;
        return {m_part->values[static_cast<std::size_t>(row) * static_cast<std::size_t>(window.columns()) +
                               static_cast<std::size_t>(column)],
                window.cells};
    }
    return {m_map->at(cell.query, cell.key), m_map->cells()};
}

void AttentionPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (!m_map) {
        painter.setPen(palette().color(QPalette::PlaceholderText));
        painter.drawText(rect().adjusted(gap, gap, -gap, -gap), Qt::AlignCenter | Qt::TextWordWrap, m_reason);
        return;
    }
    painter.drawImage(m_area.topLeft(), picture());
    paintTokens(painter);
    paintHover(painter);
    paintColourBar(painter);
}

/// Width in pixels of the tokens' labels and of the axis name next to them.
int AttentionPlot::widthOfLabels() const {
    const QFontMetrics metrics = fontMetrics();
    int widest = metrics.horizontalAdvance("000");
    for (const QString& token : m_tokens)
        widest = std::max(widest, metrics.horizontalAdvance(token));
    return metrics.height() + std::min(widest, labelCharacters * metrics.averageCharWidth()) + 2 * gap;
}

int AttentionPlot::widthBesideMap() const {
    return colourBarWidth + 2 * gap + barLabelCharacters * fontMetrics().averageCharWidth();
}

/// The widget's font, or a smaller one where cells are small.
QFont AttentionPlot::labelFont() const {
    QFont small = font();
    const int height = QFontInfo(font()).pixelSize();
    small.setPixelSize(std::clamp(static_cast<int>(m_scale * 0.85), smallestLabel, std::max(height, smallestLabel)));
    return small;
}

int AttentionPlot::labelStep() const {
    const int room = QFontInfo(labelFont()).pixelSize();
    return std::max(1, static_cast<int>(std::ceil(room / m_scale)));
}

/// A token's text if there is room for the label of every token; otherwise its index.
QString AttentionPlot::label(int token) const {
    if (labelStep() > 1)
        return QString::number(token);
    return QFontMetrics(labelFont())
        .elidedText(m_tokens[token], Qt::ElideRight, labelCharacters * fontMetrics().averageCharWidth());
}

void AttentionPlot::drawRowName(QPainter& painter, int token, const QString& name) const {
    const int height = painter.fontMetrics().height();
    const int middle = cellRect({token, 0}).center().y();
    painter.drawText(QRect(0, middle - height / 2, m_area.left() - gap, height), Qt::AlignRight | Qt::AlignVCenter,
                     name);
}

void AttentionPlot::drawColumnName(QPainter& painter, int token, const QString& name) const {
    const int height = painter.fontMetrics().height();
    painter.save();
    painter.translate(cellRect({0, token}).center().x(), m_area.top() - gap);
    painter.rotate(-90);
    painter.drawText(QRect(0, -height / 2, m_area.top(), height), Qt::AlignLeft | Qt::AlignVCenter, name);
    painter.restore();
}

void AttentionPlot::paintTokens(QPainter& painter) const {
    const int step = labelStep();
    const auto last = static_cast<int>(m_tokens.size()) - 1;
    const auto firstShown = [&](double first) { return (static_cast<int>(first) + step - 1) / step * step; };
    const auto lastShown = [&](double first, int pixels) {
        return std::min(last, static_cast<int>(first + pixels / m_scale));
    };
    // paintHover() draws the labels of the hovered cell, so labels next to them are left out here.
    const auto isFree = [&](int token, int hovered) { return !m_hovered || std::abs(token - hovered) >= step; };
    const AttentionCell hovered = m_hovered.value_or(AttentionCell());
    painter.setPen(themeOf(*this).muted);
    painter.setFont(labelFont());
    for (int token = firstShown(m_first.y()); token <= lastShown(m_first.y(), m_area.height()); token += step)
        if (isFree(token, hovered.query))
            drawRowName(painter, token, label(token));
    for (int token = firstShown(m_first.x()); token <= lastShown(m_first.x(), m_area.width()); token += step)
        if (isFree(token, hovered.key))
            drawColumnName(painter, token, label(token));
    painter.setFont(font());
    const int height = fontMetrics().height();
    painter.drawText(QRect(m_area.left(), 0, m_area.width(), height), Qt::AlignLeft, tr("key →"));
    painter.save();
    painter.translate(0, m_area.top());
    painter.rotate(-90);
    painter.drawText(QRect(-m_area.height(), 0, m_area.height(), height), Qt::AlignRight, tr("← query"));
    painter.restore();
}

/// Draws the frame of the hovered cell and the labels of its query and its key.
void AttentionPlot::paintHover(QPainter& painter) const {
    if (!m_hovered)
        return;
    const PlotTheme theme = themeOf(*this);
    const QRect cell = cellRect(*m_hovered);
    painter.setClipRect(m_area);
    painter.setPen(theme.pen(theme.accent));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(cell.adjusted(-1, -1, 0, 0));
    QColor line = theme.accent;
    line.setAlphaF(0.4);
    painter.setPen(theme.pen(line));
    painter.drawLine(m_area.left(), cell.center().y(), cell.left() - 1, cell.center().y());
    painter.drawLine(cell.center().x(), m_area.top(), cell.center().x(), cell.top() - 1);
    painter.setClipping(false);
    QFont bold = font();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(theme.text);
    const int room = labelCharacters * fontMetrics().averageCharWidth() - gap;
    const auto name = [&](int token) {
        return painter.fontMetrics().elidedText(m_tokens[token], Qt::ElideRight, room);
    };
    drawRowName(painter, m_hovered->query, name(m_hovered->query));
    drawColumnName(painter, m_hovered->key, name(m_hovered->key));
    painter.setFont(font());
}

void AttentionPlot::paintColourBar(QPainter& painter) const {
    const PlotTheme theme = themeOf(*this);
    const double extent = static_cast<double>(m_tokens.size()) * m_scale;
    const int shown = static_cast<int>(std::min<double>(m_area.height(), extent));
    const int right = m_area.left() + static_cast<int>(std::min<double>(m_area.width(), extent));
    const QRect bar(right + 2 * gap, m_area.top(), colourBarWidth, std::max(shown, 4 * fontMetrics().height()));
    for (int y = 0; y < bar.height(); ++y) {
        painter.setPen(QColor(m_range.colourAt(1 - (y + 0.5) / bar.height())));
        painter.drawLine(bar.left(), bar.top() + y, bar.right(), bar.top() + y);
    }
    painter.setPen(theme.muted);
    const int height = fontMetrics().height();
    constexpr int labels = 3;
    for (int i = 0; i < labels; ++i) {
        const double share = i / (labels - 1.0);
        const double value = m_range.isLogarithmic()
                                 ? m_range.lower() * std::pow(m_range.upper() / m_range.lower(), share)
                                 : m_range.lower() + share * (m_range.upper() - m_range.lower());
        const int y = std::clamp(static_cast<int>(bar.bottom() - share * bar.height()), bar.top() + height / 2,
                                 bar.bottom() - height / 2);
        painter.drawText(QRect(bar.right() + gap, y - height / 2, width() - bar.right() - gap, height),
                         Qt::AlignLeft | Qt::AlignVCenter, QString::fromStdString(shownNumber(value, 2)));
    }
}

} // namespace secateur
