#pragma once

#include "analysis/base/head_id.h"
#include "widgets/window/command_palette.h"
#include "widgets/document/selection.h"

#include <QKeySequence>
#include <QList>
#include <QMainWindow>

#include <functional>
#include <vector>

class QActionGroup;
class QDockWidget;
class QLabel;
class QStackedWidget;
class QTabWidget;
class QToolButton;

namespace secateur {

class AttentionView;
class Autosave;
class CacheSearch;
class CommandCopier;
class Document;
class EvaluationsPanel;
class FigureActions;
class FilterBar;
class GradientView;
class HeadFilter;
class HeadsView;
class JobRunner;
class JobsPanel;
class LayersView;
class LiveEvaluation;
class LogPanel;
class MessageBar;
class MetricList;
class ModelCardPanel;
class NeuronsView;
class ScatterView;
class ShortcutSheet;
class WelcomePage;
struct ExtraChoice;
struct Leftover;

/// The one window: pictures in the centre, what they are of and what can be done around them.
class MainWindow : public QMainWindow {
    Q_OBJECT

public:
    /// Layout, theme and recent files are kept in QSettings.
    MainWindow(Document* document, JobRunner* jobs, QWidget* parent = nullptr);
    ~MainWindow() override;

    /// Asks first when something saved was changed since.
    void open(const QString& path);
    /// @param id "heads", "layers", "attention", "sheet" of all heads, "scatter" or "neurons", which opens the selected
    /// layer
    void showTab(const QString& id);
    /// Shows a measurement in the view that is for its kind. @param key result_key.h
    void showResult(const QString& key);
    /// Selects one head and shows it.
    void goTo(HeadId head);
    /// Lets heads step back that do not meet these conditions.
    void filterHeads(const QString& conditions);
    /// For this run only; the menu's choice is kept.
    void setTheme(const QString& id);
    HeadsView* headsView() const { return m_heads; }
    LogPanel* log() const { return m_log; }
    /// Of each mask, besides its loss.
    void measureAlso(const ExtraChoice& choice);
    /// Everything the palette offers now.
    std::vector<Command> commands();

protected:
    void changeEvent(QEvent* event) override;
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    // main_window.cpp
    void buildCentre();
    void buildDocks();
    QDockWidget* addDock(const QString& title, const QString& name, Qt::DockWidgetArea area, QWidget* content);
    void buildStatusBar();
    void connectDocument();
    void connectAutosave();
    void recover(const Leftover& leftover);
    void showOpened();
    void showCentre();
    void showPanels(bool wanted);
    void updateTitle();
    void updateActions();
    void showAttention(HeadId head);
    void followPicture();
    void restoreLayout();
    void resetLayout();
    void fail(const QString& message);

    void connectCopier();

    // main_window_menus.cpp
    QAction* add(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> run);
    void buildMenus();
    void buildFileMenu();
    void buildEditMenu();
    void buildMeasureMenu();
    void buildMaskMenu();
    void buildEvaluateMenu();
    void buildViewMenu();
    void buildThemeMenu(QMenu* menu);
    void buildHelpMenu();
    void listRecent(QMenu* menu);
    void chooseModelFile();
    void chooseFolder();
    void chooseSession();
    void chooseModelForSession();
    void chooseMask();
    void chooseMaskFile();
    void chooseExport();
    void chooseSessionFile(std::function<void()> next = {});
    void saveSession(std::function<void()> next = {});
    void whenNothingIsLost(std::function<void()> next);
    void save(const QString& path, std::function<void()> next = {});
    void addMaskComparison(QMenu* menu);
    void chooseCommandMask(const QString& name);
    void copyMeasuring();
    void openPalette();

    // main_window_find.cpp
    void openFinder();
    std::vector<Command> findable(const QString& typed);
    void showHead(HeadId head);
    void showLayer(int layer);
    void showMetric(const QString& resultId);

    // main_window_menus.cpp
    void openShortcutSheet();
    void about();
    FigureActions* figureActions() const;
    void copyValues();
    void resetZoom();
    void selectAll();

    Document* m_document;
    JobRunner* m_jobs;
    Selection* m_selection;
    HeadFilter* m_filter;
    LiveEvaluation* m_live;
    Autosave* m_autosave;
    CacheSearch* m_cache;
    CommandCopier* m_copier;
    MessageBar* m_messages = nullptr;
    FilterBar* m_filterBar = nullptr;
    QStackedWidget* m_centre = nullptr;
    WelcomePage* m_welcome = nullptr;
    QLabel* m_opening = nullptr;
    QTabWidget* m_tabs = nullptr;
    HeadsView* m_heads = nullptr;
    LayersView* m_layers = nullptr;
    AttentionView* m_attention = nullptr;
    NeuronsView* m_neurons = nullptr;
    GradientView* m_gradients = nullptr;
    ScatterView* m_scatter = nullptr;
    MetricList* m_metrics = nullptr;
    ModelCardPanel* m_card = nullptr;
    EvaluationsPanel* m_evaluations = nullptr;
    JobsPanel* m_jobsPanel = nullptr;
    LogPanel* m_log = nullptr;
    QList<QDockWidget*> m_docks;
    QDockWidget* m_metricsDock = nullptr;
    QDockWidget* m_jobsDock = nullptr;
    QLabel* m_hover = nullptr;
    QToolButton* m_working = nullptr;
    CommandPalette* m_palette = nullptr;
    ShortcutSheet* m_sheet = nullptr;
    QActionGroup* m_themes = nullptr;
    QList<QAction*> m_commands;     ///< all of the menus
    QList<QAction*> m_needDocument; ///< enabled while something is open
    QList<QAction*> m_needModel;    ///< enabled while its weights are there
    QAction* m_locate = nullptr;
    QByteArray m_defaultLayout;
    QByteArray m_hiddenLayout; ///< what the panels come back to; empty while they are there
    std::function<void()> m_afterSave;
    bool m_closing = false; ///< the person let changes go
};

} // namespace secateur
