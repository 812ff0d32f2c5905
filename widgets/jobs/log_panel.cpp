#include "widgets/jobs/log_panel.h"

#include <QTime>

namespace secateur {

namespace {

constexpr int mostLines = 5000;

} // namespace

LogPanel::LogPanel(QWidget* parent)
    : QPlainTextEdit(parent) {
    setReadOnly(true);
    setFrameShape(QFrame::NoFrame);
    setMaximumBlockCount(mostLines);
    setLineWrapMode(NoWrap);
    setAccessibleName(tr("Log"));
    setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
}

void LogPanel::add(const QString& level, const QString& text) {
    appendPlainText(QStringLiteral("%1  %2  %3").arg(QTime::currentTime().toString("HH:mm:ss"), level, text));
}

} // namespace secateur
