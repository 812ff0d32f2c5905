#pragma once

#include <QObject>
#include <QPointer>
#include <QWidget>

namespace secateur {

/// Draws a frame around the control with the keyboard focus, in all windows. The frame is shown while the user works
/// with the keyboard: a key shows it, a press of a mouse button hides it. A
/// panel that lies behind another one is raised when Tab comes to one of its controls. Installed on the application by
/// its constructor.
class FocusRing : public QObject {
    Q_OBJECT

public:
    explicit FocusRing(QObject* parent = nullptr);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void follow(QWidget* focus);
    void place();

    QPointer<QWidget> m_focus; ///< the control with the focus
    QPointer<QWidget> m_ring;  ///< a child of that control, or of the area that it scrolls in
    bool m_byKeyboard = false;
};

} // namespace secateur
