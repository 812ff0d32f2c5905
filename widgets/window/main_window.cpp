#include "widgets/window/main_window.h"

#include "analysis/model/far_model.h"
#include "widgets/attention/attention_view.h"
#include "widgets/document/autosave.h"
#include "widgets/document/commands.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/head_filter.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/selection.h"
#include "widgets/evaluations/evaluations_panel.h"
#include "widgets/evaluations/extra_choice_keeper.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/export/export_form.h"
#include "widgets/export/export_panel.h"
#include "widgets/heads/heads_view.h"
#include "widgets/jobs/elided_label.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/job_status.h"
#include "widgets/jobs/messages.h"
#include "widgets/masks/cut_box.h"
#include "widgets/masks/mask_panel.h"
#include "widgets/results/filter_bar.h"
#include "widgets/results/metric_list.h"
#include "widgets/weights/tensors_panel.h"
#include "widgets/window/central_pages.h"
#include "widgets/window/crash_notice.h"
#include "widgets/window/file_actions.h"
#include "widgets/window/focus_ring.h"
#include "widgets/window/layouts.h"
#include "widgets/window/panels.h"
#include "widgets/window/plain_labels.h"
#include "widgets/window/server_status.h"
#include "widgets/window/theme.h"
#include "widgets/window/view_memory.h"
#include "widgets/window/view_tabs.h"
#include "widgets/window/window_commands.h"
#include "widgets/window/window_search.h"
#include "widgets/window/window_tours.h"

#include <QApplication>
#include <QCloseEvent>
#include <QFileInfo>
#include <QLineEdit>
#include <QSettings>
#include <QStatusBar>
#include <QVBoxLayout>

#include <algorithm>

namespace secateur {

namespace {

constexpr int statusMs = 5000;

/// The largest window in this area; Qt knows the size of its frame only once it is on screen.
QSize withoutFrame(const QSize& area) {
    constexpr QSize frame(4, 40);
    return area - frame;
}

} // namespace

MainWindow::MainWindow(Document* document, JobRunner* jobs, const QSize& room, QWidget* parent)
    : QMainWindow(parent)
    , m_document(document)
    , m_selection(new Selection(this))
    , m_filter(new HeadFilter(document, this))
    , m_live(new LiveEvaluation(document, jobs, {}, this))
    , m_copier(new CommandCopier(document, jobs, this))
    , m_messages(new MessageBar) {
    new ExtraChoiceKeeper(document, m_live, this);
    setObjectName("MainWindow");
    qApp->installEventFilter(new PlainLabels(this));
    new FocusRing(this);
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    applyTheme(QSettings().value("theme", "system").toString());
    // Connected before any view, because heads of the previous model may not exist in the new one.
    connect(document, &Document::opened, m_selection, [this] {
        m_selection->hover({});
        m_selection->clear();
    });
    m_views = new ViewTabs(document, jobs, m_selection, m_filter);
    m_filterBar = new FilterBar(document, m_filter);
    m_pages = new CentralPages(document, m_views);
    buildCentre();
    m_panels = new Panels(this, document, jobs, m_selection, m_live, withoutFrame(room));
    buildStatusBar(jobs);
    m_files = new FileActions(this, document, m_messages);
    auto* search = new WindowSearch(this, document, m_files, m_views, m_panels, m_pages);
    auto* layouts = new Layouts(this, m_panels, m_views);
    connect(layouts, &Layouts::failed, this, &MainWindow::fail);
    m_tours = new WindowTours(this, document, m_selection, m_views, m_pages, m_files, m_messages);
    m_commands = new WindowCommands({this, document, m_selection, m_live, m_copier, m_filterBar, m_views, m_panels,
                                     layouts, m_files, search, m_tours});
    connectDocument(jobs);
    connectPanels();
    connectCopier();
    m_memory = new ViewMemory(
        document, m_views, {[this] { return m_filter->text(); }, [this](const QString& text) { restoreFilter(text); }},
        this);
    m_panels->restoreLayout();
    showCentre();
    updateTitle();
    new CrashNotice(Autosave::stateFolder() + "/crashes", m_messages, this);
}

MainWindow::~MainWindow() = default;

void MainWindow::buildCentre() {
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_messages);
    column->addWidget(m_filterBar);
    column->addWidget(new CompareBar(m_document->comparison()));
    column->addWidget(m_pages, 1);
    setCentralWidget(content);
    connect(m_filterBar, &FilterBar::closed, m_views, [this] { m_views->currentWidget()->setFocus(); });
    connect(m_views, &ViewTabs::failed, this, &MainWindow::fail);
}

void MainWindow::buildStatusBar(JobRunner* jobs) {
    auto* hover = new ElidedLabel;
    hover->setAccessibleName(tr("Cell under the pointer"));
    auto* working = new JobStatus(jobs);
    statusBar()->addWidget(hover, 1);
    statusBar()->addPermanentWidget(working);
    statusBar()->addPermanentWidget(new ServerStatus(m_document, m_messages));
    connect(working, &JobStatus::jobsWanted, m_panels, &Panels::showJobs);
    connect(m_views, &ViewTabs::hoverText, hover, &QLabel::setText);
    connect(m_views, &QTabWidget::currentChanged, hover, &QLabel::clear);
}

void MainWindow::connectDocument(JobRunner* jobs) {
    connect(m_files, &FileActions::opening, this, &MainWindow::beginOpening);
    connect(m_files, &FileActions::failed, this, &MainWindow::fail);
    connect(m_pages, &CentralPages::modelWanted, m_files, &FileActions::chooseModel);
    connect(m_pages, &CentralPages::folderWanted, m_files, &FileActions::chooseModelFolder);
    connect(m_pages, &CentralPages::sessionWanted, m_files, &FileActions::chooseSession);
    connect(m_pages, &CentralPages::openWanted, m_files, &FileActions::open);
    connect(m_document, &Document::opened, this, &MainWindow::showOpened);
    connect(m_document, &Document::modelLocated, m_messages, &MessageBar::dismissAll);
    connect(m_document, &Document::modelLocated, this, &MainWindow::updateTitle);
    connect(m_document, &Document::sessionPathChanged, this, &MainWindow::updateTitle);
    connect(m_document, &Document::modifiedChanged, this, &MainWindow::updateTitle);
    connect(m_document, &Document::noticed, this, &MainWindow::notice);
    connect(m_document, &Document::failed, this, [this](const QString& message) {
        fail(message);
        showCentre();
    });
    connect(jobs, &JobRunner::cancelled, this, &MainWindow::showCentre);
    connect(m_document->maskJobs(), &MaskJobs::exported, this, [this](const QString& sentence) {
        if (!m_panels->exporting()->isVisible()) // the panel says it too
            m_messages->say(MessageBar::Kind::notice, sentence);
        m_panels->log()->add("info", sentence);
    });
    connect(m_document->masks(), &MaskEditor::refused, this,
            [this](const QString& message) { statusBar()->showMessage(message, statusMs); });
    connect(m_document->comparison(), &Comparison::failed, this, &MainWindow::fail);
}

void MainWindow::connectPanels() {
    MaskPanel* mask = m_panels->mask();
    mask->cutBox()->setFilter(m_filter);
    connect(m_panels->card(), &ModelCardPanel::locateModelWanted, m_files, &FileActions::locateModel);
    connect(m_panels->metrics(), &MetricList::chosen, this, &MainWindow::showResult);
    connect(m_panels->metrics(), &MetricList::failed, this, &MainWindow::fail);
    connect(m_panels->evaluations(), &EvaluationsPanel::failed, this, &MainWindow::fail);
    connect(m_panels->evaluations(), &EvaluationsPanel::exportWanted, m_panels, &Panels::showExport);
    connect(mask->list(), &MaskListBox::openWanted, m_files, &FileActions::openMask);
    connect(mask->list(), &MaskListBox::saveWanted, m_files, &FileActions::saveMaskAs);
    connect(mask->list(), &MaskListBox::commandWanted, m_copier, &CommandCopier::copyMask);
    connect(mask->exports(), &ExportBox::exportWanted, m_panels, &Panels::showExport);
    connect(m_panels->exporting(), &ExportPanel::browseWanted, this, [this](const QString& suggestion, bool isOneFile) {
        m_files->chooseExport(suggestion, isOneFile,
                              [this](const QString& path) { m_panels->exporting()->form()->setPath(path); });
    });
    connect(m_panels->tensors(), &TensorsPanel::unitWanted, m_views, &ViewTabs::showUnit);
    connect(m_panels->tensors(), &TensorsPanel::failed, this, &MainWindow::fail);
    connect(m_views->heads(), &HeadsView::resultShown, mask->cutBox(), &CutBox::showMetric);
    connect(m_views, &ViewTabs::shownChanged, this, &MainWindow::followPicture);
    connect(m_views, &ViewTabs::filterWanted, this, &MainWindow::filterHeads);
    connect(m_views, &ViewTabs::sweepWanted, m_panels, &Panels::showSweep);
}

void MainWindow::connectCopier() {
    connect(m_panels->evaluations(), &EvaluationsPanel::commandWanted, m_copier, &CommandCopier::copyEvaluation);
    connect(m_panels->metrics(), &MetricList::commandWanted, m_copier, &CommandCopier::copyMeasuring);
    connect(m_views, &ViewTabs::commandWanted, m_copier, &CommandCopier::copyMeasuring);
    connect(m_views, &ViewTabs::maskedFigureWanted, m_copier, [this](const std::string& figure) {
        m_copier->copyUnderMask([command = plotLine(*m_document, figure)](const std::string& file) {
            CommandLine marked = command;
            if (!file.empty())
                marked.insert(marked.end(), {"--mask", file});
            return std::vector<CommandLine>{marked};
        });
    });
    AttentionView* attention = m_views->attention();
    connect(attention, &AttentionView::maskedCommandWanted, m_copier, [this, attention] {
        m_copier->copyUnderMask(
            [attention](const std::string& file) { return std::vector<CommandLine>{attention->command(file)}; });
    });
    connect(m_copier, &CommandCopier::failed, this, &MainWindow::fail);
    connect(m_copier, &CommandCopier::placeWanted, this, [this](const QString& name) {
        m_files->chooseCommandMask(name, [this](const QString& path) { m_copier->place(path); });
    });
    connect(m_copier, &CommandCopier::copied, this, [this](const QString& commands, const QString& note) {
        m_panels->log()->add("info", tr("copied %1").arg(commands));
        if (note.isEmpty())
            statusBar()->showMessage(tr("Copied %1").arg(commands), statusMs);
        else
            m_messages->say(MessageBar::Kind::notice, tr("Copied. %1").arg(note));
    });
}

void MainWindow::open(const QString& path) {
    m_files->open(path);
}

void MainWindow::beginOpening(const QString& path) {
    if (!path.isEmpty()) {
        m_panels->log()->add("info", tr("opening %1").arg(path));
        m_messages->dismissAll();
        m_pages->announce(tr("Opening %1…").arg(QFileInfo(path).fileName()));
    }
    showCentre();
}

void MainWindow::showOpened() {
    const QString session = m_document->sessionPath();
    const QString path = QString::fromStdString(m_document->session().model.path);
    m_panels->log()->add("info", tr("opened %1").arg(session.isEmpty() ? path : session));
    showCentre();
    followPicture();
    updateTitle();
}

void MainWindow::showCentre() {
    m_panels->setShown(m_document->isOpen() || m_document->files()->isOpening());
    m_pages->refresh();
}

void MainWindow::updateTitle() {
    QString title = tr("Secateur");
    if (m_document->isOpen()) {
        QString name = QString::fromStdString(m_document->session().model.name);
        if (const FarModel* far = m_document->model() ? farModel(*m_document->model()) : nullptr)
            name = tr("%1 on %2").arg(name, QString::fromStdString(far->status().place));
        if (!m_document->sessionPath().isEmpty())
            name = tr("%1 in %2").arg(name, QFileInfo(m_document->sessionPath()).fileName());
        title = tr("%1[*] – Secateur").arg(name);
    }
    setWindowTitle(title);
    setWindowModified(m_document->isModified());
}

void MainWindow::showTab(const QString& id) {
    m_views->showTab(id);
}

void MainWindow::startTour(const QString& id, int step) {
    m_tours->start(id, static_cast<std::size_t>(std::max(step, 1) - 1));
}

void MainWindow::showResult(const QString& key) {
    m_views->showResult(key);
}

void MainWindow::showTensor(const QString& name, const QString& plane, const QString& other) {
    const QStringList planes{"values", "scales", "minima", "other", "difference"};
    m_panels->showTensors();
    m_panels->tensors()->showTensor(name, static_cast<TensorShown>(std::max<qsizetype>(0, planes.indexOf(plane))));
    if (!other.isEmpty())
        m_panels->tensors()->compareWith(other);
}

void MainWindow::goTo(HeadId head) {
    m_views->goTo(head);
}

HeadsView* MainWindow::headsView() const {
    return m_views->heads();
}

LogPanel* MainWindow::log() const {
    return m_panels->log();
}

std::vector<Command> MainWindow::commands() const {
    return m_commands->offered();
}

/// Selects the measurement on screen in the list of metrics.
void MainWindow::followPicture() {
    m_panels->metrics()->follow(m_views->mainKey());
    m_document->comparison()->setSubject(m_views->mainKey().toStdString());
}

void MainWindow::filterHeads(const QString& conditions) {
    m_filterBar->open();
    m_filterBar->input()->setText(conditions);
}

/// Sets the filter with which a model was last viewed, without moving the focus.
void MainWindow::restoreFilter(const QString& conditions) {
    if (conditions == m_filter->text())
        return;
    conditions.isEmpty() ? m_filterBar->clear() : filterHeads(conditions);
    m_views->currentWidget()->setFocus();
}

void MainWindow::measureAlso(const ExtraChoice& extra) {
    EvaluationChoice choice = m_live->choice();
    choice.extra = extra;
    m_live->choose(choice);
}

void MainWindow::setTheme(const QString& id) {
    m_commands->setTheme(id);
}

void MainWindow::notice(const QString& message) {
    m_messages->say(MessageBar::Kind::notice, message);
    m_panels->log()->add("notice", message);
}

void MainWindow::fail(const QString& message) {
    m_messages->say(MessageBar::Kind::error, message);
    m_panels->log()->add("error", message);
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    // Models may have been fetched meanwhile.
    if (event->type() == QEvent::ActivationChange && isActiveWindow() && m_pages && !m_document->isOpen())
        m_pages->refresh();
    if (event->type() == QEvent::ThemeChange && m_commands)
        m_commands->followPlatformTheme();
}

void MainWindow::closeEvent(QCloseEvent* event) {
    m_panels->saveLayout();
    m_memory->remember();
    event->setAccepted(m_files->mayClose());
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (!m_files->openablePath(event->mimeData()).isEmpty())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const QString path = m_files->openablePath(event->mimeData());
    if (path.isEmpty())
        return;
    event->acceptProposedAction();
    open(path);
}

} // namespace secateur
