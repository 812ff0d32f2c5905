#include "widgets/tours/tour_balloon.h"

#include "widgets/tours/tour.h"

#include <QAccessible>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QPainterPath>
#include <QPushButton>
#include <QVBoxLayout>

#include <algorithm>

namespace secateur {

namespace {

constexpr int arrowLength = 12;
constexpr int padding = 12;
constexpr qreal rounding = 6;
constexpr int outlineWidth = 2;
constexpr int outlineGap = 3; ///< between the widget and the middle of its outline
constexpr int textCharacters = 46;

QLabel* tourLabel(bool muted) {
    auto* label = new QLabel;
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    if (muted)
        label->setForegroundRole(QPalette::PlaceholderText);
    return label;
}

/// The area of a rectangle that parents do not clip.
QRect shownPart(const QWidget* widget, QRect rectangle) {
    for (const QWidget* each = widget; !each->isWindow(); each = each->parentWidget())
        rectangle = (rectangle & each->rect()).translated(each->pos());
    return rectangle & widget->window()->rect();
}

} // namespace

TourOutline::TourOutline(QWidget* parent)
    : QWidget(parent) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    hide();
}

void TourOutline::surround(const QWidget* widget, const QRect& rectangle) {
    m_surrounded = rectangle.isEmpty() ? QRect() : shownPart(widget, rectangle);
    if (m_surrounded.isEmpty())
        return hide();
    if (parentWidget() != widget->window())
        setParent(widget->window());
    const int around = outlineGap + outlineWidth;
    setGeometry(m_surrounded.adjusted(-around, -around, around, around) & widget->window()->rect());
    show();
    raise();
}

void TourOutline::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::Link), outlineWidth));
    const qreal inset = 0.5 * outlineWidth;
    painter.drawRoundedRect(QRectF(rect()).adjusted(inset, inset, -inset, -inset), rounding, rounding);
}

TourBalloon::TourBalloon(QWidget* window)
    : QWidget(window)
    , m_count(tourLabel(true))
    , m_heading(tourLabel(false))
    , m_text(tourLabel(false))
    , m_until(tourLabel(true))
    , m_leave(new QPushButton(tr("Leave")))
    , m_back(new QPushButton(tr("&Back")))
    , m_next(new QPushButton(tr("Ne&xt")))
    , m_show(new QPushButton(tr("Sho&w it"))) {
    setObjectName("tourBalloon");
    QFont bold = font();
    bold.setBold(true);
    m_heading->setFont(bold);
    auto* column = new QVBoxLayout(this);
    constexpr int margin = arrowLength + padding;
    column->setContentsMargins(margin, margin, margin, margin);
    column->setSpacing(6);
    for (QLabel* label : {m_count, m_heading, m_text, m_until})
        column->addWidget(label);
    column->addSpacing(4);
    column->addLayout(makeButtons());
    hide();
}

QLayout* TourBalloon::makeButtons() {
    m_leave->setToolTip(tr("Leave the tour (Esc)"));
    m_back->setToolTip(tr("Show the previous step of the tour"));
    m_next->setToolTip(tr("Show the next step of the tour"));
    m_show->setToolTip(tr("Show the hidden part of the window that this step is about"));
    m_show->hide();
    connect(m_leave, &QPushButton::clicked, this, &TourBalloon::leaveWanted);
    connect(m_back, &QPushButton::clicked, this, &TourBalloon::backWanted);
    connect(m_next, &QPushButton::clicked, this, &TourBalloon::nextWanted);
    connect(m_show, &QPushButton::clicked, this, &TourBalloon::showWanted);
    auto* row = new QHBoxLayout;
    row->addWidget(m_leave);
    row->addStretch();
    for (QPushButton* button : {m_show, m_back, m_next})
        row->addWidget(button);
    for (QPushButton* button : {m_leave, m_show, m_back, m_next}) {
        button->setAutoDefault(true); // Enter presses the button that has the focus
        button->setWhatsThis(button->toolTip());
    }
    return row;
}

void TourBalloon::showStep(const Tour& tour, std::size_t step) {
    const TourStep& row = tour.steps[step];
    const bool isLast = step + 1 == tour.steps.size();
    m_count->setText(tr("%1 · step %2 of %3").arg(tourText(tour.title)).arg(step + 1).arg(tour.steps.size()));
    m_heading->setText(tourText(row.heading));
    m_text->setText(tourText(row.text));
    m_until->setText(*row.until ? tourText(row.until) : QString());
    m_until->setVisible(*row.until);
    m_back->setEnabled(step > 0);
    m_next->setText(isLast ? tr("Fin&ish") : tr("Ne&xt"));
    m_next->setToolTip(isLast ? tr("End the tour") : tr("Show the next step of the tour"));
    m_next->setWhatsThis(m_next->toolTip());
    setAccessibleName(tr("Tour: %1").arg(m_count->text()));
    setAccessibleDescription(m_heading->text() + ". " + m_text->text() + ' ' + m_until->text());
    show();
    QAccessibleEvent alert(this, QAccessible::Alert);
    QAccessible::updateAccessibility(&alert);
}

void TourBalloon::pointAt(const QRect& target) {
    const QRect room = parentWidget()->rect();
    const int width = std::min(fontMetrics().averageCharWidth() * textCharacters, room.width() - 2 * padding);
    const int whole = width + 2 * arrowLength;
    const QSize body(width, layout()->heightForWidth(whole) - 2 * arrowLength);
    constexpr int around = outlineGap + outlineWidth;
    const QRect outlined = target.isEmpty() ? target : target.adjusted(-around, -around, around, around);
    m_place = placeBalloon(room, outlined, body, arrowLength);
    setGeometry(m_place.body.adjusted(-arrowLength, -arrowLength, arrowLength, arrowLength));
    // The room for the arrow lets mouse events pass.
    QRegion shape(m_place.body.translated(-pos()));
    if (m_place.hasArrow) {
        const QRect tip(m_place.tip - pos(), QSize(1, 1));
        shape += tip.adjusted(-arrowLength, -arrowLength, arrowLength, arrowLength);
    }
    setMask(shape);
    raise();
    update();
}

void TourBalloon::setTargetHidden(bool isHidden) {
    m_show->setVisible(isHidden);
}

QString TourBalloon::heading() const {
    return m_heading->text();
}

QString TourBalloon::text() const {
    return m_text->text();
}

void TourBalloon::paintEvent(QPaintEvent*) {
    const QRectF body = QRectF(m_place.body.translated(-pos())).adjusted(0.5, 0.5, -0.5, -0.5);
    QPainterPath shape;
    shape.addRoundedRect(body, rounding, rounding);
    if (m_place.hasArrow) {
        const QPointF tip = m_place.tip - pos();
        const bool isBeside = tip.x() < body.left() || tip.x() > body.right();
        const QPointF along = isBeside ? QPointF(0, arrowLength) : QPointF(arrowLength, 0);
        // The foot of the arrow lies inside the body, so that both become one shape, and not at a rounded corner.
        const qreal corner = arrowLength + rounding;
        const QRectF inside = body.adjusted(1, 1, -1, -1);
        const QRectF straight = body.adjusted(corner, corner, -corner, -corner);
        const QRectF feet(isBeside ? inside.left() : straight.left(), isBeside ? straight.top() : inside.top(),
                          isBeside ? inside.width() : straight.width(), isBeside ? straight.height() : inside.height());
        const QPointF foot(std::clamp(tip.x(), feet.left(), feet.right()),
                           std::clamp(tip.y(), feet.top(), feet.bottom()));
        QPainterPath arrow;
        arrow.addPolygon(QPolygonF{foot - along, tip, foot + along, foot - along});
        shape = shape.united(arrow);
    }
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::Link), 1.5));
    painter.setBrush(palette().color(QPalette::ToolTipBase));
    painter.drawPath(shape);
}

} // namespace secateur
