#pragma once

#include <QObject>
#include <QPoint>
#include <QString>

class QKeyEvent;
class QWidget;

namespace secateur {

/// What a user is told about a control.
struct ControlHelp {
    QString name;   ///< as screen readers say it
    QString text;   ///< what the control does; empty = the control has no text of its own. Rich text or plain text
    QString keys;   ///< its shortcut in the notation of the platform; empty = none
    QString manual; ///< section of the manual, "using.md#by-rank"; empty = none
};

/// Links all controls in `area` to a section of the manual. @param section "using.md#by-rank"
void setManualSection(QWidget* area, const QString& section);

/// The help about one control, without that of the widgets around it. The text is its What's This text, otherwise its
/// tool tip, unless that only repeats the text on a button.
ControlHelp helpOf(const QWidget& control);

/// Explains controls on request (What's This?). Installed on the application by its constructor. A click in the mode
/// that `start()` begins shows the help of the control at that place, or of the area around it: its name, its text, its
/// shortcut and a link to the manual. Rows of lists and tables add their tool tips.
class WhatsThis : public QObject {
    Q_OBJECT

public:
    explicit WhatsThis(QObject* parent = nullptr);

    /// Starts the mode, which ends with a click or Esc. If it is on already, ends it and explains the control with the
    /// keyboard focus. Shift+F1 calls this in all windows.
    void start();
    /// The text that is shown about a place of a widget, as HTML; empty if nothing is known about it and the widgets
    /// around it.
    QString explanation(const QWidget* widget, const QPoint& position) const;

signals:
    /// The user followed the link to the manual. @param anchor empty = the beginning of the page
    void sectionWanted(const QString& page, const QString& anchor);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    bool explain(QWidget* widget, const QPoint& position, const QPoint& globalPosition);
    bool pressed(QObject* watched, const QKeyEvent& key);
    void follow(const QString& link);

    QString m_link;       ///< link of the text that was shown last
    bool m_wasOn = false; ///< whether the mode was on when the current key was pressed; each key ends the mode
};

} // namespace secateur
