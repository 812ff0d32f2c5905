#pragma once

#include "analysis/base/head_id.h"
#include "widgets/window/command_palette.h"

#include <QMainWindow>

#include <vector>

namespace secateur {

class CentralPages;
class CommandCopier;
class Document;
class FileActions;
class FilterBar;
class HeadFilter;
class HeadsView;
class JobRunner;
class LiveEvaluation;
class LogPanel;
class MessageBar;
class Panels;
class Selection;
class ViewTabs;
class WindowCommands;
struct FurtherChoice;

/// The one window. Puts its parts together: the views in the centre, the panels around them, what files and menus do.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    /// Layout, theme and recent files are kept in QSettings.
    MainWindow(Document* document, JobRunner* jobs, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Asks first when something saved was changed since.
    void open(const QString& path);
    /// @param id as ViewTabs::showTab() takes it
    void showTab(const QString& id);
    /// Shows a measurement in the view that is for its kind. @param key result_key.h
    void showResult(const QString& key);
    /// Selects one head and shows it.
    void goTo(HeadId head);
    /// Lets heads step back that do not meet these conditions.
    void filterHeads(const QString& conditions);
    /// For this run only; the menu's choice is kept.
    void setTheme(const QString& id);
    HeadsView* headsView() const;
    LogPanel* log() const;
    /// Of each mask, besides its loss.
    void measureAlso(const FurtherChoice& choice);
    /// Everything the palette offers now.
    std::vector<Command> commands() const;

protected:
    void changeEvent(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void buildCentre();
    void buildStatusBar();
    void connectDocument(JobRunner* jobs);
    void connectPanels();
    void connectCopier();
    void beginOpening(const QString& path);
    void showOpened();
    void showCentre();
    void updateTitle();
    void followPicture();
    void notice(const QString& message);
    void fail(const QString& message);

    Document* m_document;
    Selection* m_selection;
    HeadFilter* m_filter;
    LiveEvaluation* m_live;
    CommandCopier* m_copier;
    MessageBar* m_messages;
    ViewTabs* m_views = nullptr;
    FilterBar* m_filterBar = nullptr;
    CentralPages* m_pages = nullptr;
    Panels* m_panels = nullptr;
    FileActions* m_files = nullptr;
    WindowCommands* m_commands = nullptr;
};

} // namespace secateur
