#include "widgets/window/main_window.h"

#include "analysis/base/text.h"
#include "widgets/attention/attention_view.h"
#include "widgets/document/autosave.h"
#include "widgets/document/command_copier.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/head_filter.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/evaluations_panel.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/generation_view.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/heads/gradient_view.h"
#include "widgets/heads/heads_view.h"
#include "widgets/jobs/job_runner.h"
#include "widgets/jobs/jobs_panel.h"
#include "widgets/jobs/log_panel.h"
#include "widgets/jobs/message_bar.h"
#include "widgets/layers/layers_view.h"
#include "widgets/masks/cut_box.h"
#include "widgets/masks/mask_panel.h"
#include "widgets/neurons/neurons_view.h"
#include "widgets/results/compare_bar.h"
#include "widgets/results/filter_bar.h"
#include "widgets/results/metric_list.h"
#include "widgets/results/selection_inspector.h"
#include "widgets/scatter/scatter_view.h"
#include "widgets/window/cache_search.h"
#include "widgets/window/model_card_panel.h"
#include "widgets/window/recent_files.h"
#include "widgets/window/shortcut_sheet.h"
#include "widgets/window/theme.h"
#include "widgets/window/welcome_page.h"

#include <QActionGroup>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QLineEdit>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTabWidget>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include <type_traits>
#include <utility>

namespace secateur {

namespace {

constexpr int layoutVersion = 4;
constexpr QSize defaultSize(1440, 900);
constexpr int statusMs = 5000;

QString countOf(int count, const char* thing) {
    return QString::fromStdString(secateur::counted(static_cast<std::uint64_t>(count), thing));
}

/// What can be dropped: a model's folder or file, or a session. Empty = something else.
QString openablePath(const QMimeData* data, const Document& document) {
    const QList<QUrl> urls = data->urls();
    if (urls.size() != 1 || !urls.first().isLocalFile())
        return {};
    const QFileInfo file(urls.first().toLocalFile());
    return file.isDir() || document.files()->isModelFile(file.filePath()) ||
                   document.services().isSession(file.filePath().toStdString())
               ? file.filePath()
               : QString();
}

} // namespace

MainWindow::MainWindow(Document* document, JobRunner* jobs, QWidget* parent)
    : QMainWindow(parent)
    , m_document(document)
    , m_jobs(jobs)
    , m_selection(new Selection(this))
    , m_filter(new HeadFilter(document, this))
    , m_live(new LiveEvaluation(document, jobs, {}, this))
    , m_autosave(new Autosave(document, Autosave::stateFolder(), this))
    , m_cache(new CacheSearch(document->services().cachedModels, this))
    , m_copier(new CommandCopier(document, jobs, this)) {
    setObjectName("MainWindow");
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    applyTheme(QSettings().value("theme", "system").toString());
    // Before any view hears of another model: cells of the old one may not exist in it.
    connect(document, &Document::opened, m_selection, [this] {
        m_selection->hover({});
        m_selection->clear();
    });
    buildCentre();
    buildDocks();
    buildStatusBar();
    buildMenus();
    connectDocument();
    connectAutosave();
    connectCopier();
    restoreLayout();
    showCentre();
    updateTitle();
    updateActions();
}

MainWindow::~MainWindow() = default;

void MainWindow::buildCentre() {
    m_messages = new MessageBar;
    m_welcome = new WelcomePage;
    m_opening = new QLabel;
    m_opening->setAlignment(Qt::AlignCenter);
    m_opening->setForegroundRole(QPalette::PlaceholderText);
    m_heads = new HeadsView(m_document, m_selection);
    m_layers = new LayersView(m_document, m_selection);
    m_neurons = new NeuronsView(m_document, m_selection);
    m_attention = new AttentionView(m_document, m_jobs, m_selection);
    m_scatter = new ScatterView(m_document, m_jobs, m_selection, m_heads->maskActions());
    m_gradients = new GradientView(m_document, m_jobs, m_selection);
    m_tabs = new QTabWidget;
    m_tabs->setDocumentMode(true);
    m_tabs->addTab(m_heads, tr("Heads"));
    m_tabs->addTab(m_layers, tr("Layers"));
    m_tabs->addTab(m_neurons, tr("Neurons"));
    m_tabs->addTab(m_attention, tr("Attention"));
    m_tabs->addTab(m_scatter, tr("Scatter"));
    m_tabs->addTab(m_gradients, tr("Gradients"));
    m_tabs->setAccessibleName(tr("Pictures"));
    m_heads->setFilter(m_filter);
    m_layers->setFilter(m_filter);
    m_neurons->setFilter(m_filter);
    m_attention->setFilter(m_filter);
    m_scatter->setFilter(m_filter);
    m_filterBar = new FilterBar(m_document, m_filter);
    m_centre = new QStackedWidget;
    for (QWidget* page :
         {static_cast<QWidget*>(m_welcome), static_cast<QWidget*>(m_opening), static_cast<QWidget*>(m_tabs)})
        m_centre->addWidget(page);
    auto* content = new QWidget;
    auto* column = new QVBoxLayout(content);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_messages);
    column->addWidget(m_filterBar);
    column->addWidget(new CompareBar(m_document->comparison()));
    column->addWidget(m_centre, 1);
    setCentralWidget(content);

    connect(m_welcome, &WelcomePage::openModelWanted, this, &MainWindow::chooseModelFile);
    connect(m_welcome, &WelcomePage::openFolderWanted, this, &MainWindow::chooseFolder);
    connect(m_welcome, &WelcomePage::openSessionWanted, this, &MainWindow::chooseSession);
    connect(m_welcome, &WelcomePage::openWanted, this, &MainWindow::open);
    connect(m_cache, &CacheSearch::found, this, [this] { m_welcome->showCached(m_cache->models()); });
    connect(m_heads, &HeadsView::failed, this, &MainWindow::fail);
    connect(m_layers, &LayersView::failed, this, &MainWindow::fail);
    connect(m_neurons, &NeuronsView::failed, this, &MainWindow::fail);
    connect(m_attention, &AttentionView::failed, this, &MainWindow::fail);
    connect(m_filterBar, &FilterBar::closed, m_tabs, [this] { m_tabs->currentWidget()->setFocus(); });
    connect(m_scatter, &ScatterView::failed, this, &MainWindow::fail);
    connect(m_gradients, &GradientView::failed, this, &MainWindow::fail);
    connect(m_heads->grid(), &HeadsGrid::opened, this, &MainWindow::showAttention);
    connect(m_scatter, &ScatterView::opened, this, &MainWindow::showAttention);
    connect(m_scatter, &ScatterView::layerOpened, this, [this](int layer) {
        m_neurons->openLayer(layer);
        m_tabs->setCurrentWidget(m_neurons);
    });
}

void MainWindow::buildDocks() {
    m_card = new ModelCardPanel(m_document);
    m_metrics = new MetricList(m_document);
    m_jobsPanel = new JobsPanel(m_jobs);
    m_log = new LogPanel;
    QDockWidget* card = addDock(tr("Model"), "model", Qt::LeftDockWidgetArea, m_card);
    m_metricsDock = addDock(tr("Metrics"), "metrics", Qt::LeftDockWidgetArea, m_metrics);
    QDockWidget* inspector =
        addDock(tr("Selection"), "selection", Qt::RightDockWidgetArea, new SelectionInspector(m_document, m_selection));
    auto* mask = new MaskPanel(m_document, m_live);
    QDockWidget* maskDock = addDock(tr("Mask"), "mask", Qt::RightDockWidgetArea, mask);
    mask->cutBox()->setFilter(m_filter);
    m_evaluations = new EvaluationsPanel(m_document, m_live);
    QDockWidget* evaluations = addDock(tr("Evaluations"), "evaluations", Qt::BottomDockWidgetArea, m_evaluations);
    QDockWidget* written = addDock(tr("Continuation"), "continuation", Qt::BottomDockWidgetArea,
                                   new GenerationView(m_document, m_live->extra()));
    m_jobsDock = addDock(tr("Jobs"), "jobs", Qt::BottomDockWidgetArea, m_jobsPanel);
    QDockWidget* log = addDock(tr("Log"), "log", Qt::BottomDockWidgetArea, m_log);
    tabifyDockWidget(evaluations, written);
    tabifyDockWidget(written, m_jobsDock);
    tabifyDockWidget(m_jobsDock, log);
    m_jobsDock->hide(); // the status bar says what is being worked on, and a click there brings them
    log->hide();
    written->hide(); // until there is a prompt
    connect(m_live->extra(), &ExtraEvaluation::changed, written, [this, written, isShown = false]() mutable {
        const bool isWanted = m_live->choice().extra.prompt && m_document->isOpen() && m_hiddenLayout.isEmpty();
        if (isWanted && !std::exchange(isShown, true)) {
            written->show();
            written->raise();
        }
        isShown = isShown && m_live->choice().extra.prompt;
    });

    const int character = fontMetrics().averageCharWidth();
    m_card->setMinimumWidth(character * 31);
    resize(defaultSize);
    resizeDocks({card, inspector}, {character * 31, character * 33}, Qt::Horizontal);
    resizeDocks({card, m_metricsDock}, {fontMetrics().height() * 10, fontMetrics().height() * 30}, Qt::Vertical);
    resizeDocks({inspector, maskDock}, {fontMetrics().height() * 12, fontMetrics().height() * 28}, Qt::Vertical);
    resizeDocks({evaluations}, {fontMetrics().height() * 10}, Qt::Vertical);
    m_defaultLayout = saveState(layoutVersion);
    connect(m_card, &ModelCardPanel::locateModelWanted, this, &MainWindow::chooseModelForSession);
    connect(m_metrics, &MetricList::chosen, this, &MainWindow::showResult);
    connect(m_metrics, &MetricList::failed, this, &MainWindow::fail);
    connect(m_document->comparison(), &Comparison::failed, this, &MainWindow::fail);
    connect(m_evaluations, &EvaluationsPanel::failed, this, &MainWindow::fail);
    connect(mask->list(), &MaskListBox::openWanted, this, &MainWindow::chooseMask);
    connect(mask->list(), &MaskListBox::saveWanted, this, &MainWindow::chooseMaskFile);
    connect(mask->list(), &MaskListBox::commandWanted, m_copier, &CommandCopier::copyMask);
    connect(mask->exports(), &ExportBox::exportWanted, this, &MainWindow::chooseExport);
    connect(m_heads, &HeadsView::resultShown, mask->cutBox(), &CutBox::showMetric);
    connect(m_document->maskJobs(), &MaskJobs::maskSaved, this,
            [this](const QString& path) { statusBar()->showMessage(tr("Saved %1").arg(path), statusMs); });
    connect(m_heads, &HeadsView::resultShown, this, &MainWindow::followPicture);
    connect(m_neurons, &NeuronsView::resultShown, this, &MainWindow::followPicture);
    connect(m_tabs, &QTabWidget::currentChanged, this, &MainWindow::followPicture);
}

QDockWidget* MainWindow::addDock(const QString& title, const QString& name, Qt::DockWidgetArea area, QWidget* content) {
    auto* dock = new QDockWidget(title);
    dock->setObjectName(name);
    dock->setWidget(content);
    addDockWidget(area, dock);
    m_docks << dock;
    return dock;
}

void MainWindow::buildStatusBar() {
    m_hover = new QLabel;
    m_hover->setAccessibleName(tr("Cell under the pointer"));
    m_hover->setTextFormat(Qt::PlainText);
    m_working = new QToolButton;
    m_working->setAutoRaise(true);
    m_working->setAccessibleName(tr("Work in progress"));
    m_working->setToolTip(tr("Show the jobs"));
    m_working->hide();
    statusBar()->addWidget(m_hover, 1);
    statusBar()->addPermanentWidget(m_working);
    connect(m_working, &QToolButton::clicked, this, [this] {
        m_jobsDock->show();
        m_jobsDock->raise();
    });
    connect(m_jobsPanel, &JobsPanel::summaryChanged, this, [this](const QString& summary) {
        m_working->setText(summary);
        m_working->setVisible(!summary.isEmpty());
    });
    const auto tellOf = [this](auto* view) {
        using View = std::remove_pointer_t<decltype(view)>;
        connect(view, &View::hoverText, this, [this, view](const QString& text) {
            if (m_tabs->currentWidget() == view)
                m_hover->setText(text);
        });
    };
    tellOf(m_heads);
    tellOf(m_layers);
    tellOf(m_neurons);
    tellOf(m_attention);
    tellOf(m_scatter);
    connect(m_tabs, &QTabWidget::currentChanged, m_hover, &QLabel::clear);
}

void MainWindow::connectDocument() {
    connect(m_document, &Document::opened, this, &MainWindow::showOpened);
    connect(m_document, &Document::modelLocated, this, [this] {
        m_messages->dismissAll();
        updateActions();
    });
    connect(m_document, &Document::sessionPathChanged, this, &MainWindow::updateTitle);
    connect(m_document, &Document::modifiedChanged, this, &MainWindow::updateTitle);
    connect(m_document, &Document::failed, this, [this](const QString& message) {
        m_afterSave = nullptr;
        fail(message);
        showCentre();
    });
    connect(m_jobs, &JobRunner::cancelled, this, &MainWindow::showCentre);
    connect(m_document->maskJobs(), &MaskJobs::exported, this, [this](const QString& sentence) {
        m_messages->say(MessageBar::Kind::notice, sentence);
        m_log->add("info", sentence);
    });
    connect(m_document->masks(), &MaskEditor::refused, this,
            [this](const QString& message) { statusBar()->showMessage(message, statusMs); });
    connect(m_document, &Document::noticed, this, [this](const QString& message) {
        m_messages->say(MessageBar::Kind::notice, message);
        m_log->add("notice", message);
    });
    connect(m_document->files(), &DocumentFiles::saved, this, [this](const QString& path) {
        statusBar()->showMessage(tr("Saved %1").arg(path), statusMs);
        rememberRecentFile(path);
        if (const auto next = std::exchange(m_afterSave, nullptr))
            next();
    });
}

void MainWindow::connectAutosave() {
    connect(m_autosave, &Autosave::failed, this, &MainWindow::fail);
    connect(m_autosave, &Autosave::openElsewhere, this, [this](const QString& path) {
        m_messages->say(MessageBar::Kind::notice,
                        tr("%1 is open in another window too: what is saved last stays.").arg(path));
    });
    for (const Leftover& leftover : m_autosave->leftovers()) {
        const QString text =
            tr("Secateur ended without saving %1 of %2.")
                .arg(leftover.masks > 0 ? countOf(leftover.masks, "mask") : tr("what was measured"), leftover.model);
        m_messages->say(MessageBar::Kind::notice, text,
                        {{tr("Restore"), [this, leftover] { recover(leftover); }},
                         {tr("Let go"), [this, leftover] { m_autosave->discard(leftover); }}});
    }
}

void MainWindow::connectCopier() {
    connect(m_evaluations, &EvaluationsPanel::commandWanted, m_copier, &CommandCopier::copyEvaluation);
    connect(m_attention, &AttentionView::maskedCommandWanted, m_copier, [this] {
        m_copier->copyUnderMask(
            [this](const std::string& file) { return std::vector<CommandLine>{m_attention->command(file)}; });
    });
    connect(m_metrics, &MetricList::commandWanted, m_copier, &CommandCopier::copyMeasuring);
    connect(m_heads, &HeadsView::commandWanted, m_copier, &CommandCopier::copyMeasuring);
    connect(m_layers, &LayersView::commandWanted, m_copier, &CommandCopier::copyMeasuring);
    connect(m_neurons, &NeuronsView::commandWanted, m_copier, &CommandCopier::copyMeasuring);
    connect(m_scatter, &ScatterView::commandWanted, m_copier, &CommandCopier::copyMeasuring);
    connect(m_copier, &CommandCopier::failed, this, &MainWindow::fail);
    connect(m_copier, &CommandCopier::placeWanted, this, &MainWindow::chooseCommandMask);
    connect(m_copier, &CommandCopier::copied, this, [this](const QString& commands, const QString& note) {
        m_log->add("info", tr("copied %1").arg(commands));
        if (note.isEmpty())
            statusBar()->showMessage(tr("Copied %1").arg(commands), statusMs);
        else
            m_messages->say(MessageBar::Kind::notice, tr("Copied. %1").arg(note));
    });
}

void MainWindow::recover(const Leftover& leftover) {
    whenNothingIsLost([this, leftover] {
        m_document->files()->recover(leftover.path, leftover.session);
        showCentre();
    });
}

void MainWindow::open(const QString& path) {
    whenNothingIsLost([this, path] {
        m_messages->dismissAll();
        m_opening->setText(tr("Opening %1…").arg(QFileInfo(path).fileName()));
        m_document->files()->open(path);
        showCentre();
    });
}

void MainWindow::showOpened() {
    const QString session = m_document->sessionPath();
    const QString path = QString::fromStdString(m_document->session().model.path);
    rememberRecentFile(session.isEmpty() ? path : session);
    m_log->add("info", tr("opened %1").arg(session.isEmpty() ? path : session));
    showCentre();
    followPicture();
    updateTitle();
    updateActions();
}

/// Panels have nothing to say on the welcome page: they wait for something to open.
void MainWindow::showPanels(bool wanted) {
    if (wanted == m_hiddenLayout.isEmpty())
        return;
    if (wanted) {
        restoreState(std::exchange(m_hiddenLayout, {}), layoutVersion);
    } else {
        m_hiddenLayout = saveState(layoutVersion);
        for (QDockWidget* dock : m_docks)
            dock->hide();
    }
}

void MainWindow::showCentre() {
    m_welcome->refresh();
    // From the event loop, where a launch has already begun to open what it was asked for: that comes first.
    QTimer::singleShot(0, this, [this] {
        if (!m_document->files()->isOpening())
            m_cache->start();
    });
    showPanels(m_document->isOpen() || m_document->files()->isOpening());
    QWidget* otherwise = m_document->files()->isOpening() ? static_cast<QWidget*>(m_opening) : m_welcome;
    m_centre->setCurrentWidget(m_document->isOpen() ? m_tabs : otherwise);
}

void MainWindow::updateTitle() {
    QString title = tr("Secateur");
    if (m_document->isOpen()) {
        QString name = QString::fromStdString(m_document->session().model.name);
        if (!m_document->sessionPath().isEmpty())
            name = tr("%1 in %2").arg(name, QFileInfo(m_document->sessionPath()).fileName());
        title = tr("%1[*] – Secateur").arg(name);
    }
    setWindowTitle(title);
    setWindowModified(m_document->isModified());
}

void MainWindow::updateActions() {
    for (QAction* action : m_needDocument)
        action->setEnabled(m_document->isOpen());
    for (QAction* action : m_needModel)
        action->setEnabled(m_document->model() != nullptr);
    m_locate->setEnabled(m_document->isOpen() && !m_document->model());
}

void MainWindow::showTab(const QString& id) {
    m_tabs->setCurrentWidget(id == "layers"      ? static_cast<QWidget*>(m_layers)
                             : id == "neurons"   ? static_cast<QWidget*>(m_neurons)
                             : id == "attention" ? static_cast<QWidget*>(m_attention)
                             : id == "scatter"   ? static_cast<QWidget*>(m_scatter)
                             : id == "gradients" ? static_cast<QWidget*>(m_gradients)
                             : id == "sheet"     ? static_cast<QWidget*>(m_attention)
                                                 : m_heads);
    m_attention->showAllHeads(id == "sheet");
    if (id == "neurons" && m_selection->active())
        m_neurons->openLayer(m_selection->active()->layer);
}

void MainWindow::showAttention(HeadId head) {
    m_attention->showHead(head);
    m_tabs->setCurrentWidget(m_attention);
}

void MainWindow::showResult(const QString& key) {
    const MetricResult* result = m_document->measurements()->result(key.toStdString());
    if (!result)
        return;
    if (result->request.info->scope == Scope::neuron) {
        m_neurons->showMetric(key);
        m_tabs->setCurrentWidget(m_neurons);
    } else if (result->request.info->scope == Scope::layer) {
        QStringList chosen = m_layers->chosenMetrics();
        if (!chosen.contains(key))
            m_layers->chooseMetrics(chosen << key);
        m_tabs->setCurrentWidget(m_layers);
    } else {
        m_heads->showMetric(key);
        m_tabs->setCurrentWidget(m_heads);
    }
}

/// The list of metrics stands where the picture is.
void MainWindow::followPicture() {
    if (m_tabs->currentWidget() == m_heads)
        m_metrics->follow(QString::fromStdString(m_heads->resultId()));
    else if (m_tabs->currentWidget() == m_neurons)
        m_metrics->follow(QString::fromStdString(m_neurons->resultId()));
}

void MainWindow::goTo(HeadId head) {
    m_tabs->setCurrentWidget(m_heads);
    m_selection->select({head}, Selection::Mode::replace, head);
    m_heads->setFocus();
}

void MainWindow::filterHeads(const QString& conditions) {
    m_filterBar->open();
    m_filterBar->input()->setText(conditions);
}

void MainWindow::measureAlso(const ExtraChoice& extra) {
    EvaluationChoice choice = m_live->choice();
    choice.extra = extra;
    m_live->choose(choice);
}

void MainWindow::setTheme(const QString& id) {
    applyTheme(id);
    for (QAction* action : m_themes->actions())
        action->setChecked(action->data().toString() == id);
}

void MainWindow::restoreLayout() {
    const QSettings settings;
    restoreGeometry(settings.value("window/geometry").toByteArray());
    restoreState(settings.value("window/layout").toByteArray(), layoutVersion);
}

void MainWindow::resetLayout() {
    restoreState(m_defaultLayout, layoutVersion);
    m_hiddenLayout.clear();
    showCentre();
}

void MainWindow::fail(const QString& message) {
    m_messages->say(MessageBar::Kind::error, message);
    m_log->add("error", message);
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::ThemeChange && m_themes && m_themes->checkedAction()->data() == "system")
        applyTheme("system");
}

void MainWindow::closeEvent(QCloseEvent* event) {
    QSettings settings;
    settings.setValue("window/geometry", saveGeometry());
    settings.setValue("window/layout", m_hiddenLayout.isEmpty() ? saveState(layoutVersion) : m_hiddenLayout);
    if (m_document->files()->isSaving()) { // closes by itself when the file is written
        m_afterSave = [this] { close(); };
        event->ignore();
    } else if (m_document->isModified() && !m_closing) {
        event->ignore();
        whenNothingIsLost([this] {
            m_closing = true;
            close();
        });
    } else {
        event->accept();
    }
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (!openablePath(event->mimeData(), *m_document).isEmpty())
        event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const QString path = openablePath(event->mimeData(), *m_document);
    if (path.isEmpty())
        return;
    event->acceptProposedAction();
    open(path);
}

} // namespace secateur
