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

/// What went wrong or is worth knowing, above the picture until the person sends it away. Several wait their turn.
class MessageBar : public QFrame {
    Q_OBJECT

public:
    enum class Kind { notice, error };

    explicit MessageBar(QWidget* parent = nullptr);

    /// A way out that a message offers; taking it dismisses the message.
    struct Choice {
        QString text;
        std::function<void()> run;
    };

    void say(Kind kind, const QString& text, std::vector<Choice> choices = {});
    void dismiss();
    /// But those that wait for a choice.
    void dismissAll();
    /// On screen; empty = none.
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

/// What happened, line by line, to read and to copy.
class LogPanel : public QPlainTextEdit {
    Q_OBJECT

public:
    explicit LogPanel(QWidget* parent = nullptr);

    /// @param level "info", "warning", "error"
    void add(const QString& level, const QString& text);
};

} // namespace secateur
