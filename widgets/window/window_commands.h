#pragma once

#include "widgets/window/command_palette.h"

#include <QKeySequence>
#include <QList>
#include <QObject>

#include <functional>
#include <utility>
#include <vector>

class QAction;
class QActionGroup;
class QMainWindow;
class QMenu;

namespace secateur {

class CommandCopier;
class Document;
class FileActions;
class FilterBar;
class Layouts;
class LiveEvaluation;
class ManualWindow;
class Panels;
class Selection;
class ShortcutSheet;
class ViewTabs;
class WhatsThis;
class WindowSearch;
class WindowTours;

/// The parts of the window that menu actions use.
struct WindowParts {
    QMainWindow* window;
    Document* document;
    Selection* selection;
    LiveEvaluation* live;
    CommandCopier* copier;
    FilterBar* filterBar;
    ViewTabs* views;
    Panels* panels;
    Layouts* layouts;
    FileActions* files;
    WindowSearch* search;
    WindowTours* tours;
};

/// Builds the menus with their shortcuts, and enables and disables their actions. Also stores the theme, which a menu
/// chooses.
class WindowCommands : public QObject {
    Q_OBJECT

public:
    explicit WindowCommands(const WindowParts& parts);

    /// All commands that the palette offers at the moment.
    std::vector<Command> offered() const;
    /// Sets the theme for this run only. The settings do not change.
    void setTheme(const QString& id);
    /// Applies the platform's light or dark colours if the theme `system` is chosen.
    void followPlatformTheme();

private:
    QAction* add(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> run);
    /// Adds an action that is enabled while a model or a session is open.
    QAction* addForDocument(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> run);
    /// Adds an action that is enabled while the model's weights are available.
    QAction* addForModel(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> run);
    void addFileMenu();
    void addEditMenu();
    void addMeasureMenu();
    void addAblations(QMenu* menu);
    void addMaskMenu();
    void addMaskComparison(QMenu* menu);
    void addEvaluateMenu();
    void addCompareMenu();
    void addViewMenu();
    void addThemes(QMenu* menu);
    QList<QAction*> allActions() const;
    void addHelpMenu();
    void addTours(QMenu* menu);
    void addSearchButton();
    void update();
    /// @param page shown first; empty = the one that was shown last
    /// @param anchor section of the page; empty = its beginning
    void openManual(const QString& page = {}, const QString& anchor = {});
    void openShortcutSheet();
    void about();

    WindowParts m_parts;
    QList<QAction*> m_actions;                                         ///< actions of all menus, apart from layouts
    std::vector<std::pair<QAction*, std::function<bool()>>> m_enabled; ///< actions and whether each is enabled now
    QActionGroup* m_themes = nullptr;
    WhatsThis* m_whatsThis;
    ManualWindow* m_manual = nullptr;
    ShortcutSheet* m_sheet = nullptr;
};

} // namespace secateur
