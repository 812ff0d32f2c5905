#include "widgets/jobs/elided_label.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

namespace secateur {

namespace {

constexpr int fewestCharacters = 6;

} // namespace

ElidedLabel::ElidedLabel(const QString& text, QWidget* parent)
    : QLabel(text, parent) {
    setTextFormat(Qt::PlainText);
}

QSize ElidedLabel::minimumSizeHint() const {
    return {fontMetrics().averageCharWidth() * fewestCharacters, QLabel::minimumSizeHint().height()};
}

bool ElidedLabel::event(QEvent* event) {
    const bool isElided = fontMetrics().horizontalAdvance(text()) > contentsRect().width();
    if (event->type() != QEvent::ToolTip || !isElided)
        return QLabel::event(event);
    const QString more = toolTip().isEmpty() ? QString() : '\n' + toolTip();
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text() + more, this);
    return true;
}

void ElidedLabel::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setPen(palette().color(foregroundRole()));
    painter.drawText(contentsRect(), static_cast<int>(alignment()) | Qt::TextSingleLine,
                     fontMetrics().elidedText(text(), Qt::ElideRight, contentsRect().width()));
}

} // namespace secateur
