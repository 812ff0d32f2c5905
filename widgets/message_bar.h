#pragma once

#include <QFrame>
#include <QString>

#include <deque>

class QLabel;
class QToolButton;

namespace secateur {

/// What went wrong or is worth knowing, above the picture until the person sends it away. Several wait their turn.
class MessageBar : public QFrame {
    Q_OBJECT

public:
    enum class Kind { notice, error };

    explicit MessageBar(QWidget* parent = nullptr);

    void say(Kind kind, const QString& text);
    void dismiss();
    void dismissAll();
    /// On screen; empty = none.
    QString text() const;

private:
    struct Message {
        Kind kind;
        QString text;
    };
    void showFirst();

    std::deque<Message> m_messages;
    QLabel* m_icon;
    QLabel* m_text;
    QLabel* m_more;
    QToolButton* m_dismiss;
};

} // namespace secateur
