#pragma once

#include "widgets/help/whats_this.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QAbstractSlider>
#include <QAbstractSpinBox>
#include <QAction>
#include <QApplication>
#include <QButtonGroup>
#include <QComboBox>
#include <QHeaderView>
#include <QImage>
#include <QLabel>
#include <QLineEdit>
#include <QMainWindow>
#include <QMenu>
#include <QMenuBar>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTabBar>
#include <QTest>
#include <QTextEdit>

#include <algorithm>
#include <set>

namespace secateur::test {

/// Where a widget is: classes and names from the window down to it.
inline QString pathOf(const QWidget* widget) {
    const QWidget* named = widget;
    QStringList path;
    for (; widget; widget = widget->isWindow() ? nullptr : widget->parentWidget()) {
        const QString name = widget->objectName().startsWith("qt_") ? QString() : widget->objectName();
        QString step = QString(widget->metaObject()->className()).remove("secateur::");
        if (!name.isEmpty())
            step += '(' + name + ')';
        path.prepend(step);
    }
    return path.join('/') + (named ? " \"" + helpOf(*named).name + '"' : QString());
}

/// Whether a widget belongs to another control, which stands for it: line edits of spin boxes, scroll bars, headers,
/// viewports, buttons of tabs and docks (the menu View has their actions), clear buttons of line edits. Labels whose
/// text the mouse can select are no controls either.
inline bool isPart(const QWidget* widget) {
    for (const char* part :
         {"QScrollBar", "QHeaderView", "QMenuBar", "QMenu", "QDockWidgetTitleButton", "QLineEditIconButton",
          "QTableCornerButton", "QComboBoxPrivateContainer", "QComboBoxListView", "QSizeGrip"})
        if (widget->inherits(part))
            return true;
    if (widget->objectName() == "qt_scrollarea_viewport" || widget->objectName() == "qt_menubar_ext_button" ||
        qobject_cast<QTabBar*>(widget->parentWidget()))
        return true;
    if (const auto* tabs = qobject_cast<const QTabBar*>(widget); tabs && tabs->count() == 0)
        return true; // the main window keeps it for later
    if (qobject_cast<const QLabel*>(widget) && widget->focusPolicy() == Qt::ClickFocus)
        return true;
    for (const QWidget* around = widget->parentWidget(); around; around = around->parentWidget())
        if (widget->focusProxy() == around || around->inherits("QComboBoxPrivateContainer"))
            return true;
    return false;
}

inline bool isButton(const QWidget* widget) {
    return qobject_cast<const QAbstractButton*>(widget);
}

/// Whether a user acts on a widget: it takes the keyboard focus, or is of a class that people click on.
inline bool isControl(const QWidget* widget) {
    const bool isOfClass = isButton(widget) || qobject_cast<const QComboBox*>(widget) ||
                           qobject_cast<const QAbstractSpinBox*>(widget) || qobject_cast<const QLineEdit*>(widget) ||
                           qobject_cast<const QTextEdit*>(widget) || qobject_cast<const QAbstractItemView*>(widget) ||
                           qobject_cast<const QAbstractSlider*>(widget);
    // A view whose focus goes to a control inside of it is no control of its own.
    return (isOfClass || (widget->focusPolicy() != Qt::NoFocus && !widget->focusProxy())) && !isPart(widget);
}

inline QList<QWidget*> controlsIn(const QWidget* window) {
    QList<QWidget*> controls;
    for (QWidget* widget : window->findChildren<QWidget*>())
        if (isControl(widget) && widget->window() == window)
            controls << widget;
    return controls;
}

/// Whether a text says something in words, which a symbol such as "…" or "+" does not.
inline bool hasWord(const QString& text) {
    static const QRegularExpression word("\\p{L}{2,}");
    return text.contains(word);
}

/// What is wrong with the name and the help of the controls of a window.
inline QStringList unexplained(const QWidget* window, std::set<const QWidget*>& seen) {
    QStringList offenders;
    for (const QWidget* control : controlsIn(window)) {
        // A hidden button without a text gets one, and its help, when it is shown.
        const auto* button = qobject_cast<const QAbstractButton*>(control);
        if ((button && button->isHidden() && button->text().isEmpty()) || !seen.insert(control).second)
            continue;
        const ControlHelp help = helpOf(*control);
        if (!hasWord(help.name))
            offenders << "no name: " + pathOf(control);
        if (!hasWord(help.text))
            offenders << "no help: " + pathOf(control);
    }
    return offenders;
}

/// Controls of a window that the user can act on now.
inline std::set<QWidget*> usableControls(const QWidget* window) {
    std::set<QWidget*> usable;
    for (QWidget* control : controlsIn(window))
        if (control->isVisible() && control->isEnabled())
            usable.insert(control);
    return usable;
}

/// Whether the arrow keys reach a button from another one of its group that has the focus policy for Tab.
inline bool isReachedInGroup(const QWidget* control) {
    const auto* button = qobject_cast<const QAbstractButton*>(control);
    if (!button || !button->group() || !button->group()->exclusive())
        return false;
    return std::ranges::any_of(button->group()->buttons(),
                               [](const QAbstractButton* other) { return (other->focusPolicy() & Qt::TabFocus) != 0; });
}

constexpr int mostLinks = 400; ///< of a page, in which Tab moves from link to link before it leaves

/// The picture of a control with its surroundings, or with what is to be seen of it in a scrolled area.
inline QImage surroundings(QWidget& control) {
    constexpr int margin = 4;
    QWidget* window = control.window();
    const QRect place(control.mapTo(window, QPoint()), control.size());
    const QRect seen = place.adjusted(-margin, -margin, margin, margin) & window->rect();
    return window->grab(seen).toImage();
}

/// Result of walking through a window with Tab.
struct FocusWalk {
    std::set<QWidget*> reached;
    QStringList offenders;
};

/// Presses Tab or Shift+Tab until the focus is back at a control that had it before. Notes controls that keep the
/// focus, and those that look the same with and without it.
inline FocusWalk walk(QWidget* window, Qt::KeyboardModifiers modifiers) {
    FocusWalk result;
    const int most = 2 * static_cast<int>(window->findChildren<QWidget*>().size());
    for (int step = 0; step < most; ++step) {
        QWidget* control = QApplication::focusWidget();
        if (!control || !result.reached.insert(control).second)
            return result;
        const QImage focused = surroundings(*control);
        for (int press = 0; press < mostLinks && QApplication::focusWidget() == control; ++press)
            QTest::keyClick(control, modifiers ? Qt::Key_Backtab : Qt::Key_Tab, modifiers);
        QCoreApplication::processEvents();
        if (QApplication::focusWidget() == control) {
            result.offenders << "keeps the focus: " + pathOf(control);
            return result;
        }
        if (control->isVisible() && surroundings(*control) == focused)
            result.offenders << "no visible focus: " + pathOf(control);
    }
    return result;
}

/// What is wrong with the way of the focus through a window. @param count number of controls that Tab reached
inline QStringList unreachable(QWidget* window, int& count) {
    QApplication::setActiveWindow(window);
    QTest::keyClick(window, Qt::Key_Tab); // the focus is marked once a key is pressed
    const std::set<QWidget*> usable = usableControls(window);
    count = static_cast<int>(usable.size());
    if (usable.size() < 2) // Tab has nowhere to go from a single control
        return usable.contains(QApplication::focusWidget()) ? QStringList()
                                                            : QStringList{"no focus: " + pathOf(window)};
    QStringList offenders;
    for (const Qt::KeyboardModifiers modifiers : {Qt::KeyboardModifiers(), Qt::KeyboardModifiers(Qt::ShiftModifier)}) {
        const FocusWalk walked = walk(window, modifiers);
        offenders << walked.offenders;
        for (QWidget* control : usable)
            if (control->isVisible() && control->isEnabled() && !walked.reached.contains(control) &&
                !isReachedInGroup(control))
                offenders << (modifiers ? "not reached by Shift+Tab: " : "not reached by Tab: ") + pathOf(control);
        count = static_cast<int>(walked.reached.size());
    }
    return offenders;
}

/// Actions of a menu and its submenus without a What's This text; that of a menu is shown for all of its actions.
inline QStringList unexplainedActions(const QMenu* menu, int& count) {
    QStringList offenders;
    for (const QAction* action : menu->actions()) {
        if (action->isSeparator())
            continue;
        if (action->menu()) {
            offenders << unexplainedActions(action->menu(), count);
            continue;
        }
        ++count;
        if (!hasWord(action->whatsThis()) && !hasWord(menu->whatsThis()))
            offenders << "no help: " + menu->title().remove('&') + " > " + action->text().remove('&');
    }
    return offenders;
}

} // namespace secateur::test
