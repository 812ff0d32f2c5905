#pragma once

#include <QFrame>
#include <QPlainTextEdit>
#include <QString>

#include <deque>
#include <functional>
#include <vector>

class QHBoxLayout;
class QLabel;
class QToolButton;

namespace secateur {

/// A bar above the views that shows errors and notices one at a time until the user dismisses them. Errors come first.
class MessageBar : public QFrame {
    Q_OBJECT

public:
    enum class Kind { notice, error };

    explicit MessageBar(QWidget* parent = nullptr);

    /// A button of a message. A click runs its action and dismisses the message.
    struct Choice {
        QString text;
        std::function<void()> run;
    };

    void say(Kind kind, const QString& text, std::vector<Choice> choices = {});
    void dismiss();
    /// Removes the message with this text, if it is there.
    void retract(const QString& text);
    /// Dismisses all messages without choices.
    void dismissAll();
    /// The message on screen; empty = none.
    QString text() const;

private:
    struct Message {
        Kind kind;
        QString text;
        std::vector<Choice> choices;
    };
    void showFirst();
    void showChoices(const Message& message);

    std::deque<Message> m_messages;
    QLabel* m_icon;
    QLabel* m_text;
    QLabel* m_more;
    QHBoxLayout* m_choices;
    QToolButton* m_dismiss;
};

/// The log panel, with one line for each event.
class LogPanel : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit LogPanel(QWidget* parent = nullptr);

    /// Adds a line. @param level "info", "warning" or "error"
    void add(const QString& level, const QString& text);
    /// Shows a line that was logged elsewhere.
    void append(const QString& level, const QString& text);

signals:
    /// Emitted by add().
    void added(const QString& level, const QString& text);
};

} // namespace secateur
