#include "widgets/window/window_commands.h"

#include "widgets/document/commands.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/evaluations/evaluations_panel.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/heads/heads_view.h"
#include "widgets/heads/mask_actions.h"
#include "widgets/help/manual_window.h"
#include "widgets/help/whats_this.h"
#include "widgets/language/shown_texts.h"
#include "widgets/masks/mask_panel.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/filter_bar.h"
#include "widgets/results/metric_list.h"
#include "widgets/results/metric_names.h"
#include "widgets/tours/tour.h"
#include "widgets/window/file_actions.h"
#include "widgets/window/layouts.h"
#include "widgets/window/panels.h"
#include "widgets/window/shortcut_sheet.h"
#include "widgets/window/theme.h"
#include "widgets/window/view_tabs.h"
#include "widgets/window/window_help.h"
#include "widgets/window/window_search.h"
#include "widgets/window/window_tours.h"

#include <QActionGroup>
#include <QDockWidget>
#include <QMainWindow>
#include <QMap>
#include <QMenuBar>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QToolButton>

namespace secateur {

namespace {

void bringToFront(QWidget* window) {
    window->show();
    window->raise();
    window->activateWindow();
}

} // namespace

WindowCommands::WindowCommands(const WindowParts& parts)
    : QObject(parts.window)
    , m_parts(parts)
    , m_whatsThis(new WhatsThis(this)) {
    addFileMenu();
    addEditMenu();
    addMeasureMenu();
    addMaskMenu();
    addEvaluateMenu();
    addCompareMenu();
    addViewMenu();
    addHelpMenu();
    addSearchButton();
    explainCommands(m_actions);
    connect(m_whatsThis, &WhatsThis::sectionWanted, this, &WindowCommands::openManual);
    connect(parts.document, &Document::opened, this, &WindowCommands::update);
    connect(parts.document, &Document::modelLocated, this, &WindowCommands::update);
    update();
}

QAction* WindowCommands::add(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> run) {
    QAction* action = menu->addAction(text);
    action->setShortcut(keys);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    m_actions << action;
    return action;
}

QAction* WindowCommands::addForDocument(QMenu* menu, const QString& text, const QKeySequence& keys,
                                        std::function<void()> run) {
    QAction* action = add(menu, text, keys, std::move(run));
    m_enabled.emplace_back(action, [this] { return m_parts.document->isOpen(); });
    return action;
}

QAction* WindowCommands::addForModel(QMenu* menu, const QString& text, const QKeySequence& keys,
                                     std::function<void()> run) {
    QAction* action = add(menu, text, keys, std::move(run));
    m_enabled.emplace_back(action, [this] { return m_parts.document->model() != nullptr; });
    return action;
}

void WindowCommands::update() {
    for (const auto& [action, isEnabled] : m_enabled)
        action->setEnabled(isEnabled());
}

void WindowCommands::addFileMenu() {
    QMenu* menu = m_parts.window->menuBar()->addMenu(tr("&File"));
    FileActions* files = m_parts.files;
    add(menu, tr("&Open model…"), QKeySequence::Open, [files] { files->chooseModel(); });
    add(menu, tr("Open model &folder…"), tr("Ctrl+Shift+O"), [files] { files->chooseModelFolder(); });
    add(menu, tr("Open model on a ser&ver…"), {}, [files] { files->chooseServer(); });
    add(menu, tr("Open s&ession…"), {}, [files] { files->chooseSession(); });
    QMenu* recent = menu->addMenu(tr("Open &recent"));
    recent->setWhatsThis(tr("Opens a file that was open before."));
    connect(recent, &QMenu::aboutToShow, files, [files, recent] { files->listRecent(recent); });
    QAction* locate = add(menu, tr("&Locate model…"), {}, [files] { files->locateModel(); });
    m_enabled.emplace_back(locate, [this] { return m_parts.document->isOpen() && !m_parts.document->model(); });
    menu->addSeparator();
    addForDocument(menu, tr("&Save session"), QKeySequence::Save, [files] { files->saveSession(); });
    addForDocument(menu, tr("Save session &as…"), tr("Ctrl+Shift+S"), [files] { files->saveSessionAs(); });
    menu->addSeparator();
    addForDocument(menu, tr("Save figure, column &width…"), tr("Ctrl+G"),
                   [this] { m_parts.views->figureActions()->saveAs(FigureWidth::column); });
    addForDocument(menu, tr("Save figure, &page width…"), tr("Ctrl+Shift+G"),
                   [this] { m_parts.views->figureActions()->saveAs(FigureWidth::page); });
    addForDocument(menu, tr("&Report…"), tr("Ctrl+R"), [files] { files->writeReport(); });
    addForDocument(menu, tr("&Export…"), tr("Ctrl+Shift+E"), [this] { m_parts.panels->showExport(); });
    menu->addSeparator();
    add(menu, tr("&Quit"), tr("Ctrl+Q"), [this] { m_parts.window->close(); });
}

void WindowCommands::addEditMenu() {
    QMenu* menu = m_parts.window->menuBar()->addMenu(tr("&Edit"));
    menu->setObjectName("editMenu");
    QUndoStack* steps = m_parts.document->masks()->undoStack();
    QAction* undo = steps->createUndoAction(this, tr("&Undo"));
    undo->setShortcut(QKeySequence::Undo);
    QAction* redo = steps->createRedoAction(this, tr("&Redo"));
    redo->setShortcuts({tr("Ctrl+Shift+Z"), tr("Ctrl+Y")});
    undo->setWhatsThis(tr("Takes back the last edit of the mask."));
    redo->setWhatsThis(tr("Repeats the edit that was taken back last."));
    for (QAction* action : {undo, redo}) {
        menu->addAction(action);
        m_actions << action;
    }
    menu->addSeparator();
    ViewTabs* views = m_parts.views;
    addForDocument(menu, tr("&Copy selected values"), QKeySequence::Copy, [views] { views->copyValues(); });
    addForDocument(menu, tr("Copy figure as &image"), tr("Ctrl+Shift+C"),
                   [views] { views->figureActions()->copyImage(); });
    addForDocument(menu, tr("Copy figure as CS&V"), tr("Ctrl+Alt+C"), [views] { views->figureActions()->copyCsv(); });
    addForDocument(menu, tr("Copy figure as command &line"), {}, [views] { views->figureActions()->copyCommand(); });
    menu->addSeparator();
    addForDocument(menu, tr("&Find head, layer or metric…"), QKeySequence::Find,
                   [this] { m_parts.search->openFinder(); });
    addForDocument(menu, tr("Select &all heads"), QKeySequence::SelectAll, [views] { views->selectAll(); });
    addForDocument(menu, tr("&Clear selection"), tr("Ctrl+Shift+A"), [this] { m_parts.selection->clear(); });
}

void WindowCommands::addMeasureMenu() {
    QMenu* menu = m_parts.window->menuBar()->addMenu(tr("&Measure"));
    Measurements* measurements = m_parts.document->measurements();
    addForModel(menu, tr("Measure all &weight metrics"), tr("Ctrl+M"),
                [measurements] { measurements->measure(parseMetricRequests("weights")); });
    addForModel(menu, tr("Measure with &options…"), tr("Ctrl+Shift+M"), [this] {
        m_parts.panels->showMetrics();
        m_parts.panels->metrics()->editOptions();
    });
    addForModel(menu, tr("Measure all &forward metrics"), tr("Ctrl+Alt+M"),
                [measurements] { measurements->measure(parseMetricRequests("forward")); });
    addForModel(menu, tr("Measure all &gradient metrics"), {},
                [measurements] { measurements->measure(parseMetricRequests("gradient")); });
    addAblations(menu->addMenu(tr("Measure by &ablation")));
    addForDocument(menu, tr("Copy metric as command &line"), {},
                   [this] { m_parts.copier->copyMeasuring(m_parts.views->shownKeys()); });
}

/// An action for each metric, because each evaluates the model once for every unit.
void WindowCommands::addAblations(QMenu* menu) {
    Measurements* measurements = m_parts.document->measurements();
    for (const MetricInfo* info : allMetrics())
        if (info->needs == Needs::ablation)
            addForModel(menu, tr("Measure %1").arg(rowText(info->title)), {}, [measurements, info] {
                measurements->measure({{info, {}}});
            })->setWhatsThis(rowText(info->summary));
}

void WindowCommands::addMaskMenu() {
    QMenu* menu = m_parts.window->menuBar()->addMenu(tr("Mas&k"));
    HeadsView* heads = m_parts.views->heads();
    heads->maskActions()->fill(menu);
    menu->addSeparator();
    menu->addActions(heads->tools());
    m_actions << heads->maskActions()->all() << heads->tools();
    menu->addSeparator();
    addForModel(menu, tr("&Find a mask…"), {}, [this] { m_parts.panels->showSearch(); });
    addForModel(menu, tr("Train the pruned mode&l…"), {}, [this] { m_parts.panels->showRecover(); });
    menu->addSeparator();
    addMaskComparison(menu);
    menu->addSeparator();
    addForDocument(menu, tr("Copy mask as command &line"), {}, [this] { m_parts.copier->copyMask(); });
    addForDocument(menu, tr("Copy e&xport as command line"), {}, [this] { m_parts.copier->copyExport(); });
}

void WindowCommands::addMaskComparison(QMenu* menu) {
    MaskEditor* masks = m_parts.document->masks();
    QAction* next = add(menu, tr("Compare with the &next mask"), tr("Ctrl+D"), [masks] { masks->compareWithNext(); });
    QAction* swap = add(menu, tr("S&wap with the compared mask"), tr("Ctrl+Alt+D"), [masks] { masks->swapCompared(); });
    QAction* stop = add(menu, tr("S&top comparing"), tr("Ctrl+Shift+D"), [masks] { masks->compareWith({}); });
    const auto enable = [masks, next, swap, stop] {
        next->setEnabled(masks->state().masks.size() > 1);
        for (QAction* action : {swap, stop})
            action->setEnabled(masks->compared());
    };
    connect(masks, &MaskEditor::listChanged, this, enable);
    enable();
}

void WindowCommands::addEvaluateMenu() {
    QMenu* menu = m_parts.window->menuBar()->addMenu(tr("E&valuate"));
    addForModel(menu, tr("&Evaluate the mask"), tr("Ctrl+E"), [this] { m_parts.live->evaluate(); });
    addForModel(menu, tr("&Stop here"), {}, [this] { m_parts.live->stopHere(); });
    EvaluationsPanel* evaluations = m_parts.panels->evaluations();
    addForDocument(menu, tr("&More measurements…"), {}, [evaluations] { evaluations->chooseExtra(); });
    menu->addSeparator();
    QAction* copy = add(menu, tr("Copy evaluation as command &line"), {}, [this, evaluations] {
        if (const Evaluation* current = evaluations->current())
            m_parts.copier->copyEvaluation(Evaluation(*current));
    });
    copy->setEnabled(false);
    connect(evaluations, &EvaluationsPanel::currentChanged, copy,
            [evaluations, copy] { copy->setEnabled(evaluations->current()); });
}

void WindowCommands::addCompareMenu() {
    auto* menu = new CompareMenu(m_parts.document, m_parts.window);
    m_parts.window->menuBar()->addMenu(menu);
    for (QAction* action : menu->actions())
        if (!action->isSeparator() && !action->menu())
            m_actions << action;
}

void WindowCommands::addViewMenu() {
    QMenu* menu = m_parts.window->menuBar()->addMenu(tr("&View"));
    ViewTabs* views = m_parts.views;
    QList<QAction*> showViews;
    for (int tab = 0; tab < views->count(); ++tab)
        showViews << add(menu, tr("Show %1").arg(views->tabText(tab)), tr("Ctrl+%1").arg(tab + 1),
                         [views, tab] { views->setCurrentIndex(tab); });
    addForDocument(menu, tr("&Reset zoom"), tr("Ctrl+0"), [views] { views->resetZoom(); });
    addForDocument(menu, tr("&Filter heads…"), tr("Ctrl+Shift+F"), [this] { m_parts.filterBar->open(); });
    menu->addSeparator();
    for (QDockWidget* dock : m_parts.panels->docks()) {
        QAction* toggle = dock->toggleViewAction();
        toggle->setText(tr("Panel: %1").arg(dock->windowTitle()));
        menu->addAction(toggle);
        m_actions << toggle;
    }
    explainAreas(*views, showViews, *m_parts.panels);
    QMenu* layouts = menu->addMenu(tr("&Layouts"));
    m_parts.layouts->fill(layouts);
    m_enabled.emplace_back(layouts->menuAction(), [this] { return m_parts.document->isOpen(); });
    menu->addSeparator();
    addThemes(menu->addMenu(tr("&Theme")));
}

void WindowCommands::addThemes(QMenu* menu) {
    const QMap<QString, QString> texts{
        {"system", tr("Theme: follow the &system")}, {"light", tr("Theme: &light")}, {"dark", tr("Theme: &dark")}};
    m_themes = new QActionGroup(this);
    const QString current = QSettings().value("theme", "system").toString();
    for (const QString& id : themeIds()) {
        QAction* action = add(menu, texts[id], {}, [id] {
            QSettings().setValue("theme", id);
            applyTheme(id);
        });
        action->setData(id);
        action->setCheckable(true);
        action->setChecked(id == current);
        m_themes->addAction(action);
    }
}

void WindowCommands::setTheme(const QString& id) {
    applyTheme(id);
    for (QAction* action : m_themes->actions())
        action->setChecked(action->data().toString() == id);
}

void WindowCommands::followPlatformTheme() {
    if (m_themes->checkedAction()->data() == "system")
        applyTheme("system");
}

void WindowCommands::addHelpMenu() {
    QMenu* menu = m_parts.window->menuBar()->addMenu(tr("&Help"));
    add(menu, tr("&Guide"), {}, [this] { openManual("using.md"); });
    add(menu, tr("&Manual"), {}, [this] { openManual(); });
    addTours(menu->addMenu(tr("&Tours")));
    add(menu, tr("Search &commands…"), tr("Ctrl+Shift+P"), [this] { m_parts.search->openPalette(allActions()); });
    add(menu, tr("&Shortcuts"), QKeySequence(Qt::Key_F1), [this] { openShortcutSheet(); });
    add(menu, tr("What's &This?"), QKeySequence::WhatsThis, [this] { m_whatsThis->start(); });
    add(menu, tr("&About Secateur"), {}, [this] { about(); });
}

void WindowCommands::addTours(QMenu* menu) {
    for (const Tour& tour : allTours()) {
        QAction* action = add(menu, tr("Tour: %1").arg(tourText(tour.title)), {},
                              [this, id = QString(tour.id)] { m_parts.tours->start(id); });
        action->setToolTip(tourText(tour.summary));
    }
}

void WindowCommands::addSearchButton() {
    auto* search = new QToolButton;
    search->setText(tr("Search commands…  Ctrl+Shift+P"));
    search->setAutoRaise(true);
    search->setForegroundRole(QPalette::PlaceholderText);
    search->setAccessibleName(tr("Search commands"));
    search->setToolTip(tr("Find any command, metric or head by a few letters"));
    connect(search, &QToolButton::clicked, this, [this] { m_parts.search->openPalette(allActions()); });
    m_parts.window->menuBar()->setCornerWidget(search);
}

QList<QAction*> WindowCommands::allActions() const {
    return m_parts.document->isOpen() ? m_actions + m_parts.layouts->actions() : m_actions;
}

std::vector<Command> WindowCommands::offered() const {
    return m_parts.search->commands(allActions());
}

void WindowCommands::openManual(const QString& page, const QString& anchor) {
    if (!m_manual)
        m_manual = new ManualWindow(m_parts.window);
    if (!page.isEmpty())
        m_manual->showPage(page, anchor);
    bringToFront(m_manual);
}

void WindowCommands::openShortcutSheet() {
    if (!m_sheet)
        m_sheet = new ShortcutSheet(allActions(), m_parts.window);
    bringToFront(m_sheet);
}

void WindowCommands::about() {
    auto* box = new QMessageBox(QMessageBox::NoIcon, tr("About Secateur"),
                                tr("Secateur %1, a workbench for studying and pruning transformers.\n\n"
                                   "Free software under the GNU General Public License, version 3 or later.")
                                    .arg(SECATEUR_VERSION),
                                QMessageBox::Close, m_parts.window);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

} // namespace secateur
