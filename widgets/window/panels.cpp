#include "widgets/window/panels.h"

#include "widgets/document/document.h"
#include "widgets/evaluations/evaluations_panel.h"
#include "widgets/evaluations/further_evaluation.h"
#include "widgets/evaluations/generation_view.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/jobs/jobs_panel.h"
#include "widgets/jobs/log_panel.h"
#include "widgets/masks/mask_panel.h"
#include "widgets/results/metric_list.h"
#include "widgets/results/selection_inspector.h"
#include "widgets/window/model_card_panel.h"

#include <QDockWidget>
#include <QMainWindow>
#include <QSettings>

#include <utility>

namespace secateur {

namespace {

constexpr int layoutVersion = 4;
constexpr QSize defaultSize(1440, 900);

void bringForward(QDockWidget* dock) {
    dock->show();
    dock->raise();
}

} // namespace

Panels::Panels(QMainWindow* window, Document* document, JobRunner* jobs, Selection* selection, LiveEvaluation* live)
    : QObject(window)
    , m_window(window)
    , m_card(new ModelCardPanel(document))
    , m_metrics(new MetricList(document))
    , m_mask(new MaskPanel(document, live))
    , m_evaluations(new EvaluationsPanel(document, live))
    , m_jobs(new JobsPanel(jobs))
    , m_log(new LogPanel) {
    QDockWidget* card = add(tr("Model"), "model", Qt::LeftDockWidgetArea, m_card);
    m_metricsDock = add(tr("Metrics"), "metrics", Qt::LeftDockWidgetArea, m_metrics);
    QDockWidget* inspector =
        add(tr("Selection"), "selection", Qt::RightDockWidgetArea, new SelectionInspector(document, selection));
    QDockWidget* mask = add(tr("Mask"), "mask", Qt::RightDockWidgetArea, m_mask);
    QDockWidget* evaluations = add(tr("Evaluations"), "evaluations", Qt::BottomDockWidgetArea, m_evaluations);
    tabifyBehind(evaluations, document, live);

    const int character = window->fontMetrics().averageCharWidth();
    const int line = window->fontMetrics().height();
    m_card->setMinimumWidth(character * 31);
    window->resize(defaultSize);
    window->resizeDocks({card, inspector}, {character * 31, character * 33}, Qt::Horizontal);
    window->resizeDocks({card, m_metricsDock}, {line * 10, line * 30}, Qt::Vertical);
    window->resizeDocks({inspector, mask}, {line * 12, line * 28}, Qt::Vertical);
    window->resizeDocks({evaluations}, {line * 10}, Qt::Vertical);
    m_defaultLayout = window->saveState(layoutVersion);
}

/// Hidden until they have something to show.
void Panels::tabifyBehind(QDockWidget* evaluations, Document* document, LiveEvaluation* live) {
    QDockWidget* continuation = add(tr("Continuation"), "continuation", Qt::BottomDockWidgetArea,
                                    new GenerationView(document, live->further()));
    m_jobsDock = add(tr("Jobs"), "jobs", Qt::BottomDockWidgetArea, m_jobs);
    QDockWidget* log = add(tr("Log"), "log", Qt::BottomDockWidgetArea, m_log);
    m_window->tabifyDockWidget(evaluations, continuation);
    m_window->tabifyDockWidget(continuation, m_jobsDock);
    m_window->tabifyDockWidget(m_jobsDock, log);
    for (QDockWidget* dock : {m_jobsDock, log, continuation}) // the status bar says what is being worked on
        dock->hide();
    connect(live->further(), &FurtherEvaluation::changed, continuation,
            [this, continuation, document, live, isShown = false]() mutable {
                const bool hasPrompt = live->choice().further.prompt.has_value();
                if (hasPrompt && document->isOpen() && m_hiddenLayout.isEmpty() && !std::exchange(isShown, true))
                    bringForward(continuation);
                isShown = isShown && hasPrompt;
            });
}

QDockWidget* Panels::add(const QString& title, const QString& name, Qt::DockWidgetArea area, QWidget* content) {
    auto* dock = new QDockWidget(title);
    dock->setObjectName(name);
    dock->setWidget(content);
    m_window->addDockWidget(area, dock);
    m_docks << dock;
    return dock;
}

void Panels::showMetrics() {
    bringForward(m_metricsDock);
}

void Panels::showJobs() {
    bringForward(m_jobsDock);
}

void Panels::setShown(bool shown) {
    if (shown == m_hiddenLayout.isEmpty())
        return;
    if (shown) {
        m_window->restoreState(std::exchange(m_hiddenLayout, {}), layoutVersion);
    } else {
        m_hiddenLayout = m_window->saveState(layoutVersion);
        for (QDockWidget* dock : m_docks)
            dock->hide();
    }
}

void Panels::saveLayout() const {
    QSettings settings;
    settings.setValue("window/geometry", m_window->saveGeometry());
    settings.setValue("window/layout", m_hiddenLayout.isEmpty() ? m_window->saveState(layoutVersion) : m_hiddenLayout);
}

void Panels::restoreLayout() {
    const QSettings settings;
    m_window->restoreGeometry(settings.value("window/geometry").toByteArray());
    m_window->restoreState(settings.value("window/layout").toByteArray(), layoutVersion);
}

void Panels::resetLayout() {
    const bool isShown = m_hiddenLayout.isEmpty();
    m_window->restoreState(m_defaultLayout, layoutVersion);
    m_hiddenLayout.clear();
    setShown(isShown);
}

} // namespace secateur
