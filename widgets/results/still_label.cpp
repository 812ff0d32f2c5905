#include "widgets/results/still_label.h"

#include <QHelpEvent>
#include <QPainter>
#include <QTextLayout>
#include <QToolTip>

#include <algorithm>

namespace secateur {

namespace {

constexpr int leastCharacters = 4;

/// Number of characters of a text in its first line, with the line break.
qsizetype lengthOfLine(const QString& text, const QFont& font, int width) {
    const QString paragraph = text.section('\n', 0, 0);
    QTextLayout layout(paragraph, font);
    layout.beginLayout();
    QTextLine line = layout.createLine();
    if (line.isValid())
        line.setLineWidth(std::max(1, width));
    layout.endLayout();
    const bool isWhole = !line.isValid() || line.textLength() >= paragraph.size();
    return isWhole ? paragraph.size() + 1 : line.textLength();
}

} // namespace

StillLabel::StillLabel(int lines, QWidget* parent)
    : QLabel(parent)
    , m_lines(lines) {
    setTextFormat(Qt::PlainText);
    setWordWrap(lines > 1);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Fixed);
}

QSize StillLabel::sizeHint() const {
    return {minimumSizeHint().width(), m_lines * fontMetrics().lineSpacing()};
}

QSize StillLabel::minimumSizeHint() const {
    return {leastCharacters * fontMetrics().averageCharWidth(), m_lines * fontMetrics().lineSpacing()};
}

QStringList StillLabel::linesShown() const {
    QStringList lines;
    const int width = contentsRect().width();
    QString rest = text();
    while (lines.size() < m_lines - 1 && !rest.isEmpty()) {
        const qsizetype length = lengthOfLine(rest, font(), width);
        lines << rest.left(length).trimmed();
        rest.remove(0, length);
    }
    return lines << fontMetrics().elidedText(rest.replace('\n', ' ').trimmed(), Qt::ElideRight, width);
}

bool StillLabel::fits() const {
    const QRect room = contentsRect();
    const int flags = (wordWrap() ? Qt::TextWordWrap : 0) | static_cast<int>(alignment());
    const QRect needed = fontMetrics().boundingRect(QRect(0, 0, room.width(), QWIDGETSIZE_MAX), flags, text());
    return needed.width() <= room.width() && needed.height() <= m_lines * fontMetrics().lineSpacing();
}

void StillLabel::paintEvent(QPaintEvent* event) {
    if (text().isEmpty() || fits())
        return QLabel::paintEvent(event);
    QPainter painter(this);
    painter.setPen(palette().color(isEnabled() ? QPalette::Normal : QPalette::Disabled, foregroundRole()));
    painter.drawText(contentsRect(), static_cast<int>(alignment()), linesShown().join('\n'));
}

bool StillLabel::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip)
        return QLabel::event(event);
    QStringList tip;
    if (!fits())
        tip << text();
    if (!toolTip().isEmpty())
        tip << toolTip();
    QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), tip.join('\n'), this);
    return true;
}

void keepRoomWhenHidden(QWidget* widget) {
    QSizePolicy policy = widget->sizePolicy();
    policy.setRetainSizeWhenHidden(true);
    widget->setSizePolicy(policy);
}

} // namespace secateur
