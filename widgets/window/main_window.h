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
class ViewMemory;
class ViewTabs;
class WindowCommands;
class WindowTours;
struct ExtraChoice;

/// The main window. It connects the views in the centre, the panels around them, the files and the menus.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    /// QSettings store layout, theme and recent files. @param room the free area of the screen, which the first window
    /// does not exceed
    MainWindow(Document* document, JobRunner* jobs, const QSize& room = {1920, 1080}, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Opens a model or session; if there are unsaved changes, asks first. Opens a mask of the open model as a new
    /// mask.
    void open(const QString& path);
    /// Shows a tab. @param id see ViewTabs::showTab()
    void showTab(const QString& id);
    /// Starts a tour of the window, at once or when a model is open. @param id of Tour @param step from 1
    void startTour(const QString& id, int step = 1);
    /// Shows a measurement in the view for its scope. @param key in the form that parseResultKey() reads
    void showResult(const QString& key);
    /// Selects a head and shows it.
    void goTo(HeadId head);
    /// Shows the panel Tensors with a tensor. @param name of the tensor; empty = the first @param plane "values",
    /// "scales", "minima", "other" or "difference"; empty = values @param other checkpoint to compare with; empty = none
    void showTensor(const QString& name, const QString& plane, const QString& other);
    /// Opens the filter bar with these conditions.
    void filterHeads(const QString& conditions);
    /// Shows an error until it is dismissed, and logs it.
    void fail(const QString& message);
    /// Sets the theme for this run only; the settings do not change.
    void setTheme(const QString& id);
    HeadsView* headsView() const;
    LogPanel* log() const;
    /// Chooses the extra measurements that are made after the loss of each mask.
    void measureAlso(const ExtraChoice& choice);
    /// All commands that the palette offers at the moment.
    std::vector<Command> commands() const;

protected:
    void changeEvent(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void buildCentre();
    void buildStatusBar(JobRunner* jobs);
    void connectDocument(JobRunner* jobs);
    void connectPanels();
    void connectCopier();
    void beginOpening(const QString& path);
    void showOpened();
    void showCentre();
    void updateTitle();
    void restoreFilter(const QString& conditions);
    void followPicture();
    void notice(const QString& message);

    Document* m_document;
    Selection* m_selection;
    HeadFilter* m_filter;
    LiveEvaluation* m_live;
    CommandCopier* m_copier;
    MessageBar* m_messages;
    ViewTabs* m_views = nullptr;
    ViewMemory* m_memory = nullptr;
    FilterBar* m_filterBar = nullptr;
    CentralPages* m_pages = nullptr;
    Panels* m_panels = nullptr;
    FileActions* m_files = nullptr;
    WindowTours* m_tours = nullptr;
    WindowCommands* m_commands = nullptr;
};

} // namespace secateur
