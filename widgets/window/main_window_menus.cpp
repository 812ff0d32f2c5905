#include "analysis/base/text.h"
#include "widgets/attention/attention_view.h"
#include "widgets/document/command_copier.h"
#include "widgets/document/document.h"
#include "widgets/document/document_files.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/mask_jobs.h"
#include "widgets/document/measurements.h"
#include "widgets/evaluations/evaluations_panel.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/heads/gradient_view.h"
#include "widgets/heads/heads_view.h"
#include "widgets/heads/mask_actions.h"
#include "widgets/layers/layers_view.h"
#include "widgets/neurons/layer_neurons.h"
#include "widgets/neurons/neurons_view.h"
#include "widgets/plot/figure_actions.h"
#include "widgets/results/compare_menu.h"
#include "widgets/results/filter_bar.h"
#include "widgets/results/metric_list.h"
#include "widgets/scatter/scatter_view.h"
#include "widgets/window/cache_search.h"
#include "widgets/window/main_window.h"
#include "widgets/window/recent_files.h"
#include "widgets/window/shortcut_sheet.h"
#include "widgets/window/theme.h"

#include <QActionGroup>
#include <QDir>
#include <QDockWidget>
#include <QFileDialog>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QTabWidget>
#include <QToolButton>

namespace secateur {

namespace {

/// A file dialog that does not stop the window; the folder is remembered.
void choose(QWidget* parent, QFileDialog::AcceptMode mode, QFileDialog::FileMode files, const QString& title,
            const QString& filter, const QString& suggestion, std::function<void(const QString&)> chosen) {
    auto* dialog = new QFileDialog(parent, title, QSettings().value("folder").toString(), filter);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(mode);
    dialog->setFileMode(files);
    if (!suggestion.isEmpty())
        dialog->selectFile(suggestion);
    QObject::connect(dialog, &QFileDialog::fileSelected, parent, [dialog, chosen](const QString& path) {
        QSettings().setValue("folder", dialog->directory().absolutePath());
        chosen(path);
    });
    dialog->open();
}

QString sessionFilter() {
    return MainWindow::tr("Sessions (*.h5 *.hdf5);;All files (*)");
}

QString maskFilter() {
    return MainWindow::tr("Masks (*.json);;All files (*)");
}

QString modelFilter(const Services& services) {
    QStringList patterns;
    for (const std::string& extension : services.modelExtensions)
        patterns << "*" + QString::fromStdString(extension);
    return MainWindow::tr("Models (%1);;All files (*)").arg(patterns.join(' '));
}

} // namespace

QAction* MainWindow::add(QMenu* menu, const QString& text, const QKeySequence& keys, std::function<void()> run) {
    QAction* action = menu->addAction(text);
    action->setShortcut(keys);
    connect(action, &QAction::triggered, this, [run = std::move(run)] { run(); });
    m_commands << action;
    return action;
}

void MainWindow::buildMenus() {
    buildFileMenu();
    buildEditMenu();
    buildMeasureMenu();
    buildMaskMenu();
    buildEvaluateMenu();
    auto* compare = new CompareMenu(m_document, this);
    menuBar()->addMenu(compare);
    for (QAction* action : compare->actions())
        if (!action->isSeparator() && !action->menu())
            m_commands << action;
    buildViewMenu();
    buildHelpMenu();
    m_palette = new CommandPalette(this);
    auto* search = new QToolButton;
    search->setText(tr("Search commands…  Ctrl+Shift+P"));
    search->setAutoRaise(true);
    search->setForegroundRole(QPalette::PlaceholderText);
    search->setAccessibleName(tr("Search commands"));
    connect(search, &QToolButton::clicked, this, &MainWindow::openPalette);
    menuBar()->setCornerWidget(search);
}

void MainWindow::buildFileMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&File"));
    add(menu, tr("&Open model…"), QKeySequence::Open, [this] { chooseModelFile(); });
    add(menu, tr("Open model &folder…"), tr("Ctrl+Shift+O"), [this] { chooseFolder(); });
    add(menu, tr("Open s&ession…"), {}, [this] { chooseSession(); });
    QMenu* recent = menu->addMenu(tr("Open &recent"));
    connect(recent, &QMenu::aboutToShow, this, [this, recent] { listRecent(recent); });
    m_locate = add(menu, tr("&Locate model…"), {}, [this] { chooseModelForSession(); });
    menu->addSeparator();
    m_needDocument << add(menu, tr("&Save session"), QKeySequence::Save, [this] { saveSession(); });
    m_needDocument << add(menu, tr("Save session &as…"), tr("Ctrl+Shift+S"), [this] { chooseSessionFile(); });
    menu->addSeparator();
    m_needDocument << add(menu, tr("Save figure, column &width…"), tr("Ctrl+G"),
                          [this] { figureActions()->saveAs(FigureWidth::column); });
    m_needDocument << add(menu, tr("Save figure, &page width…"), tr("Ctrl+Shift+G"),
                          [this] { figureActions()->saveAs(FigureWidth::page); });
    menu->addSeparator();
    add(menu, tr("&Quit"), tr("Ctrl+Q"), [this] { close(); });
}

void MainWindow::buildEditMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Edit"));
    QUndoStack* steps = m_document->masks()->undoStack();
    QAction* undo = steps->createUndoAction(this, tr("&Undo"));
    undo->setShortcut(QKeySequence::Undo);
    QAction* redo = steps->createRedoAction(this, tr("&Redo"));
    redo->setShortcuts({tr("Ctrl+Shift+Z"), tr("Ctrl+Y")});
    for (QAction* action : {undo, redo}) {
        menu->addAction(action);
        m_commands << action;
    }
    menu->addSeparator();
    m_needDocument << add(menu, tr("&Copy selected values"), QKeySequence::Copy, [this] { copyValues(); });
    m_needDocument << add(menu, tr("Copy figure as &image"), tr("Ctrl+Shift+C"),
                          [this] { figureActions()->copyImage(); });
    m_needDocument << add(menu, tr("Copy figure as CS&V"), tr("Ctrl+Alt+C"), [this] { figureActions()->copyCsv(); });
    m_needDocument << add(menu, tr("Copy figure as command &line"), {}, [this] { figureActions()->copyCommand(); });
    menu->addSeparator();
    m_needDocument << add(menu, tr("&Find head, layer or metric…"), QKeySequence::Find, [this] { openFinder(); });
    m_needDocument << add(menu, tr("Select &all heads"), QKeySequence::SelectAll, [this] { selectAll(); });
    m_needDocument << add(menu, tr("&Clear selection"), tr("Ctrl+Shift+A"), [this] { m_selection->clear(); });
}

void MainWindow::buildMeasureMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Measure"));
    m_needModel << add(menu, tr("Measure all &weight metrics"), tr("Ctrl+M"),
                       [this] { m_document->measurements()->measure(parseMetricRequests("weights")); });
    m_needModel << add(menu, tr("Measure with &options…"), tr("Ctrl+Shift+M"), [this] {
        m_metricsDock->show();
        m_metricsDock->raise();
        m_metrics->editOptions();
    });
    m_needModel << add(menu, tr("Measure all &forward metrics"), tr("Ctrl+Alt+M"),
                       [this] { m_document->measurements()->measure(parseMetricRequests("forward")); });
    m_needDocument << add(menu, tr("Copy metric as command &line"), {}, [this] { copyMeasuring(); });
}

void MainWindow::buildMaskMenu() {
    QMenu* menu = menuBar()->addMenu(tr("Mas&k"));
    m_heads->maskActions()->fill(menu);
    menu->addSeparator();
    menu->addActions(m_heads->tools());
    m_commands << m_heads->maskActions()->all() << m_heads->tools();
    menu->addSeparator();
    addMaskComparison(menu);
    menu->addSeparator();
    m_needDocument << add(menu, tr("Copy mask as command &line"), {}, [this] { m_copier->copyMask(); })
                   << add(menu, tr("Copy e&xport as command line"), {}, [this] { m_copier->copyExport(); });
}

void MainWindow::addMaskComparison(QMenu* menu) {
    MaskEditor* masks = m_document->masks();
    QAction* next = add(menu, tr("Compare with the &next mask"), tr("Ctrl+D"), [masks] { masks->compareWithNext(); });
    QAction* swap = add(menu, tr("S&wap with the compared mask"), tr("Ctrl+Alt+D"), [masks] { masks->swapCompared(); });
    QAction* stop = add(menu, tr("S&top comparing"), tr("Ctrl+Shift+D"), [masks] { masks->compareWith({}); });
    const auto update = [masks, next, swap, stop] {
        next->setEnabled(masks->state().masks.size() > 1);
        for (QAction* action : {swap, stop})
            action->setEnabled(masks->compared());
    };
    connect(masks, &MaskEditor::listChanged, this, update);
    update();
}

void MainWindow::buildEvaluateMenu() {
    QMenu* menu = menuBar()->addMenu(tr("E&valuate"));
    m_needModel << add(menu, tr("&Evaluate the mask"), tr("Ctrl+E"), [this] { m_live->evaluate(); })
                << add(menu, tr("&Stop here"), {}, [this] { m_live->stopHere(); });
    menu->addSeparator();
    QAction* copy = add(menu, tr("Copy evaluation as command &line"), {}, [this] {
        if (const Evaluation* current = m_evaluations->current())
            m_copier->copyEvaluation(Evaluation(*current));
    });
    copy->setEnabled(false);
    connect(m_evaluations, &EvaluationsPanel::currentChanged, copy,
            [this, copy] { copy->setEnabled(m_evaluations->current()); });
}

void MainWindow::buildViewMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&View"));
    for (int tab = 0; tab < m_tabs->count(); ++tab)
        add(menu, tr("Show %1").arg(m_tabs->tabText(tab)), tr("Ctrl+%1").arg(tab + 1),
            [this, tab] { m_tabs->setCurrentIndex(tab); });
    m_needDocument << add(menu, tr("&Reset zoom"), tr("Ctrl+0"), [this] { resetZoom(); })
                   << add(menu, tr("&Filter heads…"), tr("Ctrl+Shift+F"), [this] { m_filterBar->open(); });
    menu->addSeparator();
    for (QDockWidget* dock : m_docks) {
        QAction* toggle = dock->toggleViewAction();
        toggle->setText(tr("Panel: %1").arg(dock->windowTitle()));
        menu->addAction(toggle);
        m_commands << toggle;
    }
    add(menu, tr("Reset &layout"), {}, [this] { resetLayout(); });
    menu->addSeparator();
    buildThemeMenu(menu->addMenu(tr("&Theme")));
}

void MainWindow::buildThemeMenu(QMenu* menu) {
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

void MainWindow::buildHelpMenu() {
    QMenu* menu = menuBar()->addMenu(tr("&Help"));
    add(menu, tr("Search &commands…"), tr("Ctrl+Shift+P"), [this] { openPalette(); });
    add(menu, tr("&Shortcuts"), QKeySequence(Qt::Key_F1), [this] { openShortcutSheet(); });
    add(menu, tr("&About Secateur"), {}, [this] { about(); });
}

void MainWindow::listRecent(QMenu* menu) {
    menu->clear();
    const QStringList files = recentFiles();
    for (const QString& path : files)
        menu->addAction(QDir::toNativeSeparators(path), this, [this, path] { open(path); });
    menu->addSeparator();
    QAction* forget = menu->addAction(tr("&Clear this list"), this, [] { forgetRecentFiles(); });
    forget->setEnabled(!files.isEmpty());
}

void MainWindow::chooseModelFile() {
    choose(this, QFileDialog::AcceptOpen, QFileDialog::ExistingFile, tr("Open model"),
           modelFilter(m_document->services()), {}, [this](const QString& path) { open(path); });
}

void MainWindow::chooseFolder() {
    choose(this, QFileDialog::AcceptOpen, QFileDialog::Directory, tr("Open model folder"), {}, {},
           [this](const QString& path) { open(path); });
}

void MainWindow::chooseSession() {
    choose(this, QFileDialog::AcceptOpen, QFileDialog::ExistingFile, tr("Open session"), sessionFilter(), {},
           [this](const QString& path) { open(path); });
}

void MainWindow::chooseModelForSession() {
    const QFileInfo stored(QString::fromStdString(m_document->session().model.path));
    const bool isFile = m_document->files()->isModelFile(stored.filePath());
    choose(this, QFileDialog::AcceptOpen, isFile ? QFileDialog::ExistingFile : QFileDialog::Directory,
           tr("Locate %1").arg(stored.fileName()), isFile ? modelFilter(m_document->services()) : QString(), {},
           [this](const QString& path) { m_document->files()->locateModel(path); });
}

void MainWindow::chooseSessionFile(std::function<void()> next) {
    const QString name = QString::fromStdString(m_document->session().model.name) + ".h5";
    choose(this, QFileDialog::AcceptSave, QFileDialog::AnyFile, tr("Save session"), sessionFilter(), name,
           [this, next = std::move(next)](const QString& path) {
               save(QFileInfo(path).suffix().isEmpty() ? path + ".h5" : path, next);
           });
}

void MainWindow::chooseMask() {
    choose(this, QFileDialog::AcceptOpen, QFileDialog::ExistingFile, tr("Open mask"), maskFilter(), {},
           [this](const QString& path) { m_document->maskJobs()->openMask(path); });
}

void MainWindow::chooseMaskFile() {
    const QString name = QString::fromStdString(m_document->masks()->state().edited().name) + ".mask.json";
    choose(this, QFileDialog::AcceptSave, QFileDialog::AnyFile, tr("Save mask"), maskFilter(), name,
           [this](const QString& path) {
               m_document->maskJobs()->saveMask(QFileInfo(path).suffix().isEmpty() ? path + ".mask.json" : path);
           });
}

void MainWindow::chooseCommandMask(const QString& name) {
    choose(this, QFileDialog::AcceptSave, QFileDialog::AnyFile, tr("Where the command finds the mask"), maskFilter(),
           name, [this](const QString& path) {
               m_copier->place(QFileInfo(path).suffix().isEmpty() ? path + ".mask.json" : path);
           });
}

void MainWindow::chooseExport() {
    const bool isFile = m_document->session().model.format == "gguf";
    const QString name = QString::fromStdString(m_document->session().model.name) + "-" +
                         QString::fromStdString(m_document->masks()->state().edited().name);
    choose(this, QFileDialog::AcceptSave, QFileDialog::AnyFile, tr("Export a checkpoint"),
           isFile ? tr("GGUF (*.gguf)") : tr("A new folder (*)"), isFile ? name + ".gguf" : name,
           [this](const QString& path) { m_document->maskJobs()->exportModel(path); });
}

void MainWindow::saveSession(std::function<void()> next) {
    if (m_document->sessionPath().isEmpty())
        chooseSessionFile(std::move(next));
    else
        save(m_document->sessionPath(), std::move(next));
}

void MainWindow::whenNothingIsLost(std::function<void()> next) {
    if (!m_document->isModified()) {
        next();
        return;
    }
    auto* question = new QMessageBox(
        QMessageBox::Question, tr("Secateur"),
        m_document->sessionPath().isEmpty()
            ? tr("The masks of %1 are not saved.").arg(m_document->session().model.name.c_str())
            : tr("%1 has changes that are not saved.").arg(QFileInfo(m_document->sessionPath()).fileName()),
        QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    question->setAttribute(Qt::WA_DeleteOnClose);
    question->setObjectName("unsaved");
    connect(question, &QMessageBox::finished, this, [this, next = std::move(next)](int answer) {
        if (answer == QMessageBox::Save)
            saveSession(next);
        else if (answer == QMessageBox::Discard)
            next();
    });
    question->open();
}

void MainWindow::save(const QString& path, std::function<void()> next) {
    m_afterSave = std::move(next);
    m_document->files()->saveSession(path);
}

void MainWindow::openPalette() {
    m_palette->open(commands());
}

std::vector<Command> MainWindow::commands() {
    std::vector<Command> commands;
    for (QAction* action : m_commands)
        if (action->isEnabled())
            commands.push_back({action->text().remove('&'), action->shortcut().toString(QKeySequence::NativeText),
                                [action] { action->trigger(); }});
    for (const CachedModel& model : m_cache->models())
        commands.push_back({tr("Open %1").arg(QString::fromStdString(model.name)),
                            QString::fromStdString(shortBytes(static_cast<double>(model.bytes))),
                            [this, path = QString::fromStdString(model.path)] { open(path); }});
    if (!m_document->isOpen())
        return commands;
    for (const std::string& id : m_document->measurements()->resultIds()) {
        const QString name = QString::fromStdString(id);
        commands.push_back({tr("Show %1").arg(name), tr("metric"), [this, name] { showResult(name); }});
    }
    if (m_document->model())
        for (const MetricInfo* info : allMetrics())
            commands.push_back(
                {tr("Measure %1").arg(QString::fromStdString(std::string(info->id))), tr("metric"), [this, info] {
                     m_document->measurements()->measure({{info, {}}});
                 }});
    const ModelSpec& spec = m_document->spec();
    for (int layer = 0; layer < spec.layerCount(); ++layer)
        for (int head = 0; head < spec.layers[static_cast<std::size_t>(layer)].heads; ++head)
            commands.push_back({QString::fromStdString(headName(layer, head)), tr("head"), [this, layer, head] {
                                    goTo({layer, head});
                                }});
    return commands;
}

void MainWindow::openShortcutSheet() {
    if (!m_sheet)
        m_sheet = new ShortcutSheet(m_commands, this);
    m_sheet->show();
    m_sheet->raise();
    m_sheet->activateWindow();
}

void MainWindow::about() {
    auto* box = new QMessageBox(QMessageBox::NoIcon, tr("About Secateur"),
                                tr("Secateur %1, a workbench for studying and pruning transformers.\n\n"
                                   "Free software under the GNU General Public License, version 3 or later.")
                                    .arg(SECATEUR_VERSION),
                                QMessageBox::Close, this);
    box->setAttribute(Qt::WA_DeleteOnClose);
    box->open();
}

FigureActions* MainWindow::figureActions() const {
    const QWidget* shown = m_tabs->currentWidget();
    return shown == m_layers      ? m_layers->figureActions()
           : shown == m_neurons   ? m_neurons->figureActions()
           : shown == m_attention ? m_attention->figureActions()
           : shown == m_scatter   ? m_scatter->figureActions()
           : shown == m_gradients ? m_gradients->figureActions()
                                  : m_heads->figureActions();
}

void MainWindow::copyValues() {
    if (m_tabs->currentWidget() == m_neurons)
        m_neurons->copyValues();
    else if (m_tabs->currentWidget() == m_scatter)
        m_scatter->copyValues();
    else
        m_heads->copyValues();
}

void MainWindow::resetZoom() {
    if (m_tabs->currentWidget() == m_scatter)
        m_scatter->resetZoom();
    else
        m_heads->resetZoom();
}

/// Of what the picture shows.
void MainWindow::copyMeasuring() {
    m_copier->copyMeasuring(m_tabs->currentWidget() == m_layers    ? m_layers->shownIds()
                            : m_tabs->currentWidget() == m_neurons ? std::vector{m_neurons->resultId()}
                            : m_tabs->currentWidget() == m_scatter ? m_scatter->keys()
                                                                   : std::vector{m_heads->resultId()});
}

void MainWindow::selectAll() {
    if (m_neurons->layerNeurons()->hasRowsInFocus())
        m_neurons->layerNeurons()->selectAll();
    else if (m_tabs->currentWidget() == m_scatter)
        m_scatter->selectAll();
    else
        m_heads->selectAll();
}

} // namespace secateur
