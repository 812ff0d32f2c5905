#pragma once

#include <QByteArray>
#include <QList>
#include <QObject>
#include <QSize>
#include <QWidget>

#include <vector>

class QDockWidget;
class QLabel;
class QMainWindow;
class QPushButton;

namespace secateur {

class Document;
class EvaluationsPanel;
class ExportPanel;
class JobRunner;
class JobsPanel;
class LiveEvaluation;
class LogPanel;
class MaskPanel;
class MetricList;
class RecoverPanel;
class SearchPanel;
class Selection;
class SweepPanel;
class TensorsPanel;

/// Shows facts about the open model: structure, sizes and warnings. It reads no weights.
class ModelCardPanel : public QWidget {
    Q_OBJECT

public:
    explicit ModelCardPanel(Document* document, QWidget* parent = nullptr);

signals:
    void locateModelWanted();

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void refresh();
    void keepRoom();

    Document* m_document;
    QLabel* m_name;
    QLabel* m_facts;
    QLabel* m_warnings;
    QPushButton* m_locate;
};

/// The docks around the views. The settings store their layout.
class Panels : public QObject {
    Q_OBJECT

public:
    /// Fills the window's dock areas, and sets its initial size. @param room the window's largest size; where it is
    /// low, panels lie one behind another
    Panels(QMainWindow* window, Document* document, JobRunner* jobs, Selection* selection, LiveEvaluation* live,
           const QSize& room);

    const QList<QDockWidget*>& docks() const { return m_docks; }
    ModelCardPanel* card() const { return m_card; }
    MetricList* metrics() const { return m_metrics; }
    MaskPanel* mask() const { return m_mask; }
    EvaluationsPanel* evaluations() const { return m_evaluations; }
    JobsPanel* jobs() const { return m_jobs; }
    LogPanel* log() const { return m_log; }
    ExportPanel* exporting() const { return m_export; }
    TensorsPanel* tensors() const { return m_tensors; }

    // Each function shows a dock and raises it.
    void showMetrics();
    void showJobs();
    void showExport();
    void showSearch();
    void showRecover();
    void showSweep();
    void showTensors();
    /// Shows or hides all docks. They are hidden while the welcome page is shown.
    void setShown(bool shown);

    void saveLayout() const;
    void restoreLayout();
    /// Restores the layout that the docks have at the first launch.
    void resetLayout();
    /// The layout of the docks, for setLayoutState().
    QByteArray layoutState() const;
    /// Restores a layout, or the one of the first launch if the state is damaged or of another version.
    /// @returns whether the state was restored
    bool setLayoutState(const QByteArray& state);
    /// Shows these docks where they are, and hides the others. @param names object names, front ones last
    void showOnly(const std::vector<QString>& names);

private:
    QDockWidget* add(const QString& title, const QString& name, Qt::DockWidgetArea area, QWidget* content);
    void arrange(QDockWidget* card, QDockWidget* inspector, QDockWidget* mask, QDockWidget* evaluations);
    void makeRoom(QDockWidget* dock);
    void tabifyBehind(QDockWidget* evaluations, Document* document, LiveEvaluation* live);

    QMainWindow* m_window;
    QSize m_room;
    QList<QDockWidget*> m_docks;
    ModelCardPanel* m_card;
    MetricList* m_metrics;
    MaskPanel* m_mask;
    EvaluationsPanel* m_evaluations;
    JobsPanel* m_jobs;
    LogPanel* m_log;
    SweepPanel* m_sweep;
    SearchPanel* m_search;
    RecoverPanel* m_recover;
    ExportPanel* m_export;
    TensorsPanel* m_tensors;
    QDockWidget* m_metricsDock = nullptr;
    QDockWidget* m_jobsDock = nullptr;
    QDockWidget* m_exportDock = nullptr;
    QDockWidget* m_searchDock = nullptr;
    QDockWidget* m_recoverDock = nullptr;
    QDockWidget* m_sweepDock = nullptr;
    QDockWidget* m_tensorsDock = nullptr;
    QByteArray m_defaultLayout;
    QByteArray m_hiddenLayout; ///< the layout before the docks were hidden; empty while they are shown
};

} // namespace secateur
