#include "widgets/jobs/messages.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStyle>
#include <QTime>
#include <QToolButton>

namespace secateur {

namespace {

constexpr int mostLines = 5000;

} // namespace

MessageBar::MessageBar(QWidget* parent)
    : QFrame(parent)
    , m_icon(new QLabel)
    , m_text(new QLabel)
    , m_more(new QLabel)
    , m_choices(new QHBoxLayout)
    , m_dismiss(new QToolButton) {
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    setBackgroundRole(QPalette::ToolTipBase);
    setAccessibleName(tr("Messages"));
    m_text->setWordWrap(true);
    m_text->setTextFormat(Qt::PlainText);
    m_text->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    m_text->setAccessibleName(tr("Message"));
    m_more->setForegroundRole(QPalette::PlaceholderText);
    m_dismiss->setText(tr("Dismiss"));
    m_dismiss->setAutoRaise(true);
    m_dismiss->setAccessibleName(tr("Dismiss this message"));
    m_dismiss->setToolTip(m_dismiss->accessibleName());
    connect(m_dismiss, &QToolButton::clicked, this, &MessageBar::dismiss);

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(8, 4, 4, 4);
    row->addWidget(m_icon);
    row->addWidget(m_text, 1);
    row->addLayout(m_choices);
    row->addWidget(m_more);
    row->addWidget(m_dismiss);
    hide();
}

void MessageBar::say(Kind kind, const QString& text, std::vector<Choice> choices) {
    for (const Message& message : m_messages)
        if (message.text == text)
            return;
    Message message{kind, text, std::move(choices)};
    m_messages.insert(kind == Kind::error ? m_messages.begin() : m_messages.end(), std::move(message));
    showFirst();
}

void MessageBar::dismiss() {
    if (!m_messages.empty())
        m_messages.pop_front();
    showFirst();
}

void MessageBar::retract(const QString& text) {
    std::erase_if(m_messages, [&](const Message& message) { return message.text == text; });
    showFirst();
}

void MessageBar::dismissAll() {
    std::erase_if(m_messages, [](const Message& message) { return message.choices.empty(); });
    showFirst();
}

QString MessageBar::text() const {
    return m_messages.empty() ? QString() : m_messages.front().text;
}

void MessageBar::showFirst() {
    setVisible(!m_messages.empty());
    if (m_messages.empty())
        return;
    const Message& first = m_messages.front();
    const auto icon = first.kind == Kind::error ? QStyle::SP_MessageBoxWarning : QStyle::SP_MessageBoxInformation;
    m_icon->setPixmap(style()->standardIcon(icon).pixmap(style()->pixelMetric(QStyle::PM_SmallIconSize)));
    m_text->setText(first.text);
    showChoices(first);
    m_more->setText(m_messages.size() > 1 ? tr("and %1 more").arg(m_messages.size() - 1) : QString());
}

void MessageBar::showChoices(const Message& message) {
    while (QLayoutItem* item = m_choices->takeAt(0)) {
        item->widget()->deleteLater();
        delete item;
    }
    for (const Choice& choice : message.choices) {
        auto* button = new QToolButton;
        button->setText(choice.text);
        button->setWhatsThis(tr("Answers the message: %1").arg(choice.text));
        connect(button, &QToolButton::clicked, this, [this, run = choice.run] {
            dismiss();
            run();
        });
        m_choices->addWidget(button);
    }
    m_dismiss->setVisible(message.choices.empty());
}

LogPanel::LogPanel(QWidget* parent)
    : QPlainTextEdit(parent) {
    setReadOnly(true);
    setFrameShape(QFrame::NoFrame);
    setMaximumBlockCount(mostLines);
    setLineWrapMode(NoWrap);
    setAccessibleName(tr("Log"));
    setWhatsThis(tr("The events since the start, with their time. The text can be selected and copied."));
    setPlaceholderText(tr("Messages and warnings of the program appear here."));
    setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
}

void LogPanel::add(const QString& level, const QString& text) {
    append(level, text);
    emit added(level, text);
}

void LogPanel::append(const QString& level, const QString& text) {
    appendPlainText(QStringLiteral("%1  %2  %3").arg(QTime::currentTime().toString("HH:mm:ss"), level, text));
}

} // namespace secateur
