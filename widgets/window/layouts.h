#pragma once

#include <QList>
#include <QObject>
#include <QString>
#include <QStringList>

class QAction;
class QMainWindow;
class QMenu;

namespace secateur {

class Panels;
class ViewTabs;

/// Named layouts: the arrangement of the panels and the visible tab. Some are built in; the settings store those that
/// the user saves.
class Layouts : public QObject {
    Q_OBJECT

public:
    Layouts(QMainWindow* window, Panels* panels, ViewTabs* views);

    /// Titles of the built-in layouts.
    static QStringList builtIn();
    /// Names of the user's layouts, in alphabetical order.
    QStringList saved() const;
    /// Applies a layout. An outdated or damaged one becomes the layout of the first launch, and failed() is emitted.
    /// @param name a title of builtIn() or a name of saved()
    void apply(const QString& name);
    /// Stores the present layout. Replaces one of this name; the names of built-in layouts are refused.
    void save(const QString& name);
    void remove(const QString& name);

    /// Fills a menu, which follows changes of saved().
    void fill(QMenu* menu);
    /// The actions of the menu.
    QList<QAction*> actions() const;

signals:
    void failed(const QString& message);
    /// The user's layouts changed.
    void changed();

private:
    void list();
    void askName();
    void askRemoval(const QString& name);

    QMainWindow* m_window;
    Panels* m_panels;
    ViewTabs* m_views;
    QMenu* m_menu = nullptr;
    QMenu* m_removal = nullptr;
    QAction* m_end = nullptr; ///< the separator below the user's layouts
    QList<QAction*> m_fixed;
    QList<QAction*> m_own; ///< of the user's layouts
};

} // namespace secateur
