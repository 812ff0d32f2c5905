#include "widgets/gallery/gallery_tile.h"

#include "widgets/gallery/gallery_papers.h"
#include "widgets/gallery/thumbnail.h"

#include <QKeyEvent>
#include <QPainter>
#include <QStyle>
#include <QStyleOptionProgressBar>
#include <QTextLayout>
#include <QTextOption>
#include <QToolButton>

#include <algorithm>
#include <cmath>
#include <utility>

namespace secateur {

namespace {

constexpr int tileEdge = 6;        ///< between the frame and its contents
constexpr double tileShape = 0.66; ///< height of the picture relative to its width
constexpr int summaryLines = 2;

/// Draws a text in a rectangle, with an ellipsis where it has no room. @returns its height
int drawWrapped(QPainter& painter, const QRect& rect, const QString& text, Qt::Alignment alignment) {
    QTextLayout layout(text, painter.font());
    QTextOption option(alignment);
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    layout.setTextOption(option);
    const int height = painter.fontMetrics().height();
    layout.beginLayout();
    int y = 0;
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(rect.width());
        const bool isLast = y + 2 * height > rect.height();
        const bool isElided = isLast && line.textStart() + line.textLength() < text.size();
        if (y + height > rect.height())
            break;
        if (isElided) {
            const QString rest =
                painter.fontMetrics().elidedText(text.mid(line.textStart()), Qt::ElideRight, rect.width());
            painter.drawText(QRect(rect.left(), rect.top() + y, rect.width(), height), static_cast<int>(alignment),
                             rest);
            y += height;
            break;
        }
        line.draw(&painter, QPointF(rect.left(), rect.top() + y));
        y += height;
    }
    layout.endLayout();
    return y;
}

/// Height that a text takes in a width.
int wrappedHeight(const QFontMetrics& metrics, int width, const QString& text) {
    return metrics.boundingRect(QRect(0, 0, width, 10'000), Qt::TextWordWrap, text).height();
}

} // namespace

GalleryTile::GalleryTile(const FigureInfo& item, QWidget* parent)
    : QAbstractButton(parent)
    , m_item(item)
    , m_stop(new QToolButton(this)) {
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_Hover);
    m_stop->setText(tr("Cancel"));
    m_stop->setAccessibleName(tr("Cancel the measurement of %1").arg(itemTitle(item)));
    m_stop->setToolTip(tr("Keeps the results so far; the measurement can continue later"));
    m_stop->hide();
    connect(m_stop, &QToolButton::clicked, this, &GalleryTile::stopWanted);
    connect(this, &QAbstractButton::clicked, this, [this] {
        if (m_state.kind == TileState::Kind::missing)
            emit measureWanted();
    });
    describe();
}

bool GalleryTile::isBusy() const {
    return m_state.kind == TileState::Kind::waiting || m_state.kind == TileState::Kind::measuring;
}

void GalleryTile::setState(const TileState& state) {
    if (m_state == state)
        return;
    m_state = state;
    m_stop->setVisible(isBusy());
    describe();
    update();
}

void GalleryTile::setFigure(std::shared_ptr<const Figure> figure) {
    if (m_figure == figure)
        return;
    m_figure = std::move(figure);
    m_isOld = true;
    if (!m_figure)
        m_picture = {};
    update();
}

void GalleryTile::paintThumbnail() {
    m_isOld = false;
    if (!m_figure)
        return;
    m_picture = thumbnailOf(*m_figure, pictureRect().size(), *this);
    update();
}

void GalleryTile::describe() {
    setAccessibleName(tr("%1: %2").arg(itemTitle(m_item), itemSummary(m_item)));
    const QStringList said{m_state.reason, m_state.offer};
    setAccessibleDescription(m_state.kind == TileState::Kind::drawn ? tr("drawn") : said.join(' ').trimmed());
    QStringList lines{accessibleName(), m_state.reason, m_state.offer, m_state.details};
    lines.removeAll(QString());
    for (QString& line : lines)
        line = line.toHtmlEscaped().replace('\n', "<br>");
    setToolTip("<p>" + lines.join("</p><p>") + "</p>");
}

int GalleryTile::leastWidth() const {
    constexpr int characters = 36;
    return characters * fontMetrics().averageCharWidth() + 2 * tileEdge;
}

int GalleryTile::heightFor(int width) const {
    const int inside = width - 2 * tileEdge;
    return static_cast<int>(std::lround(tileShape * inside)) + (1 + summaryLines) * fontMetrics().height() +
           3 * tileEdge;
}

QSize GalleryTile::sizeHint() const {
    return {leastWidth(), heightFor(leastWidth())};
}

QRect GalleryTile::pictureRect() const {
    const int inside = width() - 2 * tileEdge;
    return {tileEdge, tileEdge, inside, static_cast<int>(std::lround(tileShape * inside))};
}

void GalleryTile::resizeEvent(QResizeEvent*) {
    m_isOld = true;
    const QSize size = m_stop->sizeHint();
    const QRect picture = pictureRect();
    m_stop->setGeometry(QRect(picture.bottomRight() - QPoint(size.width() + tileEdge, size.height() + tileEdge), size));
}

void GalleryTile::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange)
        m_isOld = true;
    QAbstractButton::changeEvent(event);
}

void GalleryTile::activate() {
    if (m_state.kind == TileState::Kind::drawn)
        emit openWanted();
    else if (m_state.kind == TileState::Kind::missing)
        emit measureWanted();
}

void GalleryTile::keyPressEvent(QKeyEvent* event) {
    switch (event->key()) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
        return activate();
    case Qt::Key_Escape:
        if (isBusy())
            return emit stopWanted();
        break;
    case Qt::Key_Left:
        return emit moveWanted(-1, 0);
    case Qt::Key_Right:
        return emit moveWanted(1, 0);
    case Qt::Key_Up:
        return emit moveWanted(0, -1);
    case Qt::Key_Down:
        return emit moveWanted(0, 1);
    default:
        break;
    }
    QAbstractButton::keyPressEvent(event);
}

void GalleryTile::mouseDoubleClickEvent(QMouseEvent* event) {
    QAbstractButton::mouseDoubleClickEvent(event);
    if (event->button() == Qt::LeftButton && m_state.kind == TileState::Kind::drawn)
        emit openWanted();
}

void GalleryTile::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const bool isHovered = underMouse();
    const QRect frame = rect().adjusted(0, 0, -1, -1);
    painter.fillRect(frame, palette().color(m_picture.isNull() ? QPalette::AlternateBase : QPalette::Base));
    QColor line = palette().color(QPalette::Mid);
    if (hasFocus() || isHovered)
        line = palette().color(QPalette::Highlight);
    painter.setPen(QPen(line, hasFocus() ? 2 : 1));
    painter.drawRect(hasFocus() ? frame.adjusted(1, 1, 0, 0) : frame);
    const QRect picture = pictureRect();
    if (m_picture.isNull())
        drawReason(painter, picture);
    else
        drawPicture(painter, picture);
    if (isBusy())
        drawProgress(painter, picture);
    drawTitle(painter, QRect(picture.left(), picture.bottom() + 1 + tileEdge, picture.width(),
                             (1 + summaryLines) * fontMetrics().height()));
}

void GalleryTile::drawPicture(QPainter& painter, const QRect& rect) const {
    if (m_state.kind != TileState::Kind::drawn)
        painter.setOpacity(0.5); // of an earlier state of the session
    painter.drawPixmap(rect, m_picture);
    painter.setOpacity(1);
}

void GalleryTile::drawReason(QPainter& painter, const QRect& rect) const {
    const QRect inside = rect.adjusted(tileEdge, tileEdge, -tileEdge, -tileEdge);
    const int line = fontMetrics().height();
    const int offerRoom = m_state.offer.isEmpty() ? 0 : wrappedHeight(fontMetrics(), inside.width(), m_state.offer);
    const int busyRoom = isBusy() ? m_stop->height() + tileEdge : 0;
    const int room = std::max(line, inside.height() - offerRoom - busyRoom - line / 2);
    const int wanted = std::min(room, wrappedHeight(fontMetrics(), inside.width(), m_state.reason));
    const int top = inside.top() + std::max(0, (inside.height() - busyRoom - wanted - offerRoom - line / 2) / 2);
    painter.setPen(palette().color(QPalette::PlaceholderText));
    const int used =
        drawWrapped(painter, QRect(inside.left(), top, inside.width(), wanted), m_state.reason, Qt::AlignHCenter);
    painter.setPen(
        palette().color(m_state.kind == TileState::Kind::missing ? QPalette::WindowText : QPalette::PlaceholderText));
    drawWrapped(painter, QRect(inside.left(), top + used + (used > 0 ? line / 2 : 0), inside.width(), offerRoom),
                m_state.offer, Qt::AlignHCenter);
}

void GalleryTile::drawTitle(QPainter& painter, const QRect& rect) const {
    const int line = fontMetrics().height();
    QFont bold = font();
    bold.setBold(true);
    painter.setFont(bold);
    painter.setPen(palette().color(QPalette::WindowText));
    const QString title = itemTitle(m_item);
    painter.drawText(QRect(rect.left(), rect.top(), rect.width(), line), Qt::AlignLeft | Qt::AlignVCenter,
                     QFontMetrics(bold).elidedText(title, Qt::ElideRight, rect.width()));
    painter.setFont(font());
    painter.setPen(palette().color(QPalette::WindowText));
    drawWrapped(painter, rect.adjusted(0, line, 0, 0), itemSummary(m_item), Qt::AlignLeft);
}

void GalleryTile::drawProgress(QPainter& painter, const QRect& rect) const {
    const int height = std::max(4, fontMetrics().height() / 4);
    const QRect bar(rect.left(), rect.bottom() - height + 1, rect.width(), height);
    painter.fillRect(bar, palette().color(QPalette::Mid));
    if (m_state.kind == TileState::Kind::measuring && m_state.fraction > 0) {
        const int done = static_cast<int>(std::lround(bar.width() * std::min(1.0, m_state.fraction)));
        painter.fillRect(QRect(bar.topLeft(), QSize(done, height)), palette().color(QPalette::Highlight));
    }
}

} // namespace secateur
