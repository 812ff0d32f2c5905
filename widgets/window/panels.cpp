#include "widgets/window/panels.h"

#include "analysis/base/text.h"
#include "widgets/curves/sweep_panel.h"
#include "widgets/document/autosave.h"
#include "widgets/document/document.h"
#include "widgets/evaluations/adapter_evaluation.h"
#include "widgets/evaluations/evaluations_panel.h"
#include "widgets/evaluations/extra_evaluation.h"
#include "widgets/evaluations/generation_view.h"
#include "widgets/evaluations/live_evaluation.h"
#include "widgets/export/export_panel.h"
#include "widgets/jobs/jobs_panel.h"
#include "widgets/jobs/messages.h"
#include "widgets/masks/mask_panel.h"
#include "widgets/masks/mask_search.h"
#include "widgets/masks/search_panel.h"
#include "widgets/results/metric_list.h"
#include "widgets/results/selection_inspector.h"
#include "widgets/training/recover_panel.h"
#include "widgets/training/recovery_forecast.h"
#include "widgets/weights/tensors_panel.h"
#include "widgets/window/recent_files.h"

#include <QDockWidget>
#include <QLabel>
#include <QMainWindow>
#include <QPushButton>
#include <QScrollArea>
#include <QSettings>
#include <QVBoxLayout>

#include <algorithm>
#include <map>
#include <utility>

namespace secateur {

namespace {

/// The most frequent layer of a model, which describes the model in a few lines.
const LayerSpec& typicalLayer(const ModelSpec& spec) {
    const auto count = [&](const LayerSpec& layer) { return std::ranges::count(spec.layers, layer); };
    return *std::ranges::max_element(spec.layers, {}, count);
}

bool isRagged(const ModelSpec& spec) {
    const LayerSpec& first = spec.layers.front();
    return !std::ranges::all_of(spec.layers, [&](const LayerSpec& layer) {
        return layer.heads == first.heads && layer.kvHeads == first.kvHeads && layer.headDim == first.headDim &&
               layer.ffn == first.ffn;
    });
}

/// Four lines: numbers of layers and heads; shared layers; widths; head size and vocabulary.
QStringList shapeLines(const ModelSpec& spec) {
    if (spec.layers.empty())
        return {ModelCardPanel::tr("no layers")};
    const LayerSpec& layer = typicalLayer(spec);
    QString heads = ModelCardPanel::tr("%1 heads").arg(layer.heads);
    if (layer.kvHeads != layer.heads)
        heads += ModelCardPanel::tr(" / %1 KV").arg(layer.kvHeads);
    QStringList lines;
    if (isRagged(spec))
        lines << ModelCardPanel::tr("%1 layers of several kinds").arg(spec.layerCount())
              << ModelCardPanel::tr("most have %1").arg(heads);
    else
        lines << ModelCardPanel::tr("%1 layers × %2").arg(spec.layerCount()).arg(heads);
    if (const auto stored = spec.tiedGroups().size(); stored > 0)
        lines << ModelCardPanel::tr("tied layers, %1 stored").arg(stored);
    return lines << ModelCardPanel::tr("hidden %1 · MLP %2").arg(spec.hidden).arg(layer.ffn)
                 << ModelCardPanel::tr("head %1 · vocab %2").arg(layer.headDim).arg(spec.vocab);
}

QString facts(const ModelCard& card) {
    QStringList lines;
    lines << ModelCardPanel::tr("%1 · %2 parameters")
                 .arg(card.spec.architecture.c_str(), shortCount(static_cast<double>(card.parameters)).c_str());
    lines << shapeLines(card.spec);
    if (card.spec.context > 0)
        lines << ModelCardPanel::tr("context %1").arg(card.spec.context);
    lines << ModelCardPanel::tr("%1 · %2 · %3")
                 .arg(card.format.c_str(), card.dtype.c_str(), shortBytes(static_cast<double>(card.bytes)).c_str());
    return lines.join('\n');
}

QString details(const ModelCard& card) {
    QStringList lines{QString::fromStdString(card.path), QString::fromStdString(card.spec.structure())};
    if (!card.tokenizer.empty())
        lines << ModelCardPanel::tr("tokenizer %1").arg(card.tokenizer.c_str());
    if (!card.fingerprint.empty())
        lines << QString::fromStdString(card.fingerprint);
    return lines.join('\n');
}

constexpr int layoutVersion = 7;
constexpr QSize defaultSize(1440, 900);

constexpr int roomForStack = 860; ///< height for two panels one below the other

/// A panel that scrolls where the window is low.
QScrollArea* scrolling(QWidget* panel) {
    auto* area = new QScrollArea;
    area->setWidget(panel);
    area->setWidgetResizable(true);
    area->setFrameShape(QFrame::NoFrame);
    area->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    area->setFocusPolicy(Qt::NoFocus);
    area->viewport()->setAutoFillBackground(false); // one surface with the dock
    panel->setAutoFillBackground(false);
    return area;
}

void bringForward(QDockWidget* dock) {
    dock->show();
    dock->raise();
}

} // namespace

ModelCardPanel::ModelCardPanel(Document* document, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_name(new QLabel)
    , m_facts(new QLabel)
    , m_warnings(new QLabel)
    , m_locate(new QPushButton(tr("&Locate model…"))) {
    QFont bold = font();
    bold.setBold(true);
    m_name->setFont(bold);
    m_name->setAccessibleName(tr("Name of the model"));
    m_facts->setAccessibleName(tr("Facts about the model"));
    m_warnings->setAccessibleName(tr("Warnings about the model"));
    m_locate->setToolTip(tr("Connects this session with the files of its model"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(8, 6, 8, 6);
    column->setSpacing(4);
    for (QLabel* label : {m_name, m_facts, m_warnings}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
        column->addWidget(label);
    }
    column->addWidget(m_locate);
    column->addStretch();
    connect(m_locate, &QPushButton::clicked, this, &ModelCardPanel::locateModelWanted);
    connect(document, &Document::opened, this, &ModelCardPanel::refresh);
    connect(document, &Document::modelLocated, this, &ModelCardPanel::refresh);
    refresh();
}

void ModelCardPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    keepRoom();
}

/// Sets the minimum height that wrapped lines need. A dock ignores this height otherwise and clips the lines.
void ModelCardPanel::keepRoom() {
    setMinimumHeight(layout()->heightForWidth(width()));
}

void ModelCardPanel::refresh() {
    const bool open = m_document->isOpen();
    const bool isMissing = open && !m_document->model();
    m_facts->setVisible(open);
    m_locate->setVisible(isMissing);
    if (!open) {
        m_name->setText(tr("No model is open."));
        m_warnings->hide();
        keepRoom();
        return;
    }
    const ModelCard& card = m_document->session().model;
    // Allows line breaks after hyphens and dots of long names.
    m_name->setText(QString::fromStdString(card.name)
                        .replace('-', QStringLiteral("-\u200b"))
                        .replace('.', QStringLiteral(".\u200b")));
    m_facts->setText(facts(card));
    m_facts->setToolTip(details(card));
    QStringList warnings;
    if (isMissing)
        warnings << tr("The checkpoint was not found. Stored results only.");
    for (const std::string& warning : card.warnings)
        warnings << QString::fromStdString(warning);
    m_warnings->setText(warnings.join('\n'));
    m_warnings->setVisible(!warnings.isEmpty());
    keepRoom();
}

Panels::Panels(QMainWindow* window, Document* document, JobRunner* jobs, Selection* selection, LiveEvaluation* live,
               const QSize& room)
    : QObject(window)
    , m_window(window)
    , m_room(room)
    , m_card(new ModelCardPanel(document))
    , m_metrics(new MetricList(document))
    , m_mask(new MaskPanel(document, jobs, live))
    , m_evaluations(new EvaluationsPanel(document, live))
    , m_jobs(new JobsPanel(jobs))
    , m_log(new LogPanel)
    , m_sweep(new SweepPanel(document, new SweepRunner(document, jobs, Autosave::stateFolder() + "/sweep-adapters", this)))
    , m_search(new SearchPanel(document, new MaskSearch(document, jobs, this)))
    , m_recover(new RecoverPanel(document, new Recovery(document, jobs, Autosave::stateFolder() + "/recover", this),
                                 new RecoveryForecast(document, jobs, this),
                                 new AdapterEvaluation(document, jobs, live, this)))
    , m_export(new ExportPanel(document, jobs, selection))
    , m_tensors(new TensorsPanel(document, jobs, selection)) {
    QDockWidget* card = add(tr("Model"), "model", Qt::LeftDockWidgetArea, scrolling(m_card));
    m_metricsDock = add(tr("Metrics"), "metrics", Qt::LeftDockWidgetArea, scrolling(m_metrics));
    QDockWidget* inspector =
        add(tr("Selection"), "selection", Qt::RightDockWidgetArea, new SelectionInspector(document, selection));
    QDockWidget* mask = add(tr("Mask"), "mask", Qt::RightDockWidgetArea, m_mask);
    m_sweepDock = add(tr("Sweep"), "sweep", Qt::RightDockWidgetArea, scrolling(m_sweep));
    m_searchDock = add(tr("Search"), "search", Qt::LeftDockWidgetArea, scrolling(m_search));
    m_recoverDock = add(tr("Recover"), "recover", Qt::LeftDockWidgetArea, scrolling(m_recover));
    QDockWidget* evaluations = add(tr("Evaluations"), "evaluations", Qt::BottomDockWidgetArea, m_evaluations);
    tabifyBehind(evaluations, document, live);
    arrange(card, inspector, mask, evaluations);
    window->tabifyDockWidget(mask, m_sweepDock);
    // Beside the panel Mask, which shows what the mask so far saves. Hidden until they are needed.
    window->tabifyDockWidget(m_metricsDock, m_searchDock);
    window->tabifyDockWidget(m_searchDock, m_recoverDock);
    m_searchDock->hide();
    m_recoverDock->hide();
    m_metricsDock->raise();
    mask->raise();
    m_defaultLayout = window->saveState(layoutVersion);
}

/// The layout of the first launch.
void Panels::arrange(QDockWidget* card, QDockWidget* inspector, QDockWidget* mask, QDockWidget* evaluations) {
    const int character = m_window->fontMetrics().averageCharWidth();
    const int line = m_window->fontMetrics().height();
    for (QWidget* column : {card->widget(), m_metricsDock->widget()})
        column->setMinimumWidth(character * 30);
    m_window->resize(defaultSize.boundedTo(m_room));
    if (m_room.height() < roomForStack) {
        m_window->tabifyDockWidget(card, m_metricsDock);
        m_window->tabifyDockWidget(inspector, mask);
        m_metricsDock->raise();
        mask->raise();
    }
    m_window->resizeDocks({card, inspector}, {character * 35, character * 33}, Qt::Horizontal);
    m_window->resizeDocks({card, m_metricsDock}, {line * 11, line * 30}, Qt::Vertical);
    m_window->resizeDocks({inspector, mask}, {line * 12, line * 28}, Qt::Vertical);
    m_window->resizeDocks({evaluations}, {line * (m_room.height() < roomForStack ? 7 : 10)}, Qt::Vertical);
}

/// Hidden until they have something to show.
void Panels::tabifyBehind(QDockWidget* evaluations, Document* document, LiveEvaluation* live) {
    auto* generation = new GenerationView(document, live->extra());
    QDockWidget* continuation = add(tr("Continuation"), "continuation", Qt::BottomDockWidgetArea, generation);
    connect(generation, &GenerationView::choiceWanted, m_evaluations, &EvaluationsPanel::chooseExtra);
    m_jobsDock = add(tr("Jobs"), "jobs", Qt::BottomDockWidgetArea, m_jobs);
    QDockWidget* log = add(tr("Log"), "log", Qt::BottomDockWidgetArea, m_log);
    m_window->tabifyDockWidget(evaluations, continuation);
    m_window->tabifyDockWidget(continuation, m_jobsDock);
    m_window->tabifyDockWidget(m_jobsDock, log);
    m_exportDock = add(tr("Export"), "export", Qt::BottomDockWidgetArea, m_export);
    m_window->tabifyDockWidget(log, m_exportDock);
    m_tensorsDock = add(tr("Tensors"), "tensors", Qt::BottomDockWidgetArea, m_tensors);
    m_window->tabifyDockWidget(m_exportDock, m_tensorsDock);
    m_tensors->offerFiles(recentFiles);
    // The height is known once the dock is laid out.
    for (QDockWidget* dock : {m_exportDock, m_tensorsDock})
        connect(dock, &QDockWidget::visibilityChanged, this, [this, dock] { makeRoom(dock); }, Qt::QueuedConnection);
    for (QDockWidget* dock :
         {m_jobsDock, log, continuation, m_exportDock, m_tensorsDock}) // the status bar shows running jobs
        dock->hide();
    connect(live->extra(), &ExtraEvaluation::changed, continuation,
            [this, continuation, document, live, isShown = false]() mutable {
                const bool hasPrompt = live->choice().extra.prompt.has_value();
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

void Panels::showSearch() {
    bringForward(m_searchDock);
}

void Panels::showRecover() {
    bringForward(m_recoverDock);
}

void Panels::showSweep() {
    bringForward(m_sweepDock);
}

void Panels::showTensors() {
    bringForward(m_tensorsDock);
}

void Panels::showExport() {
    bringForward(m_exportDock);
    m_export->begin();
}

/// Gives a panel enough height for its contents, if it lies at the bottom.
void Panels::makeRoom(QDockWidget* dock) {
    const bool isAtBottom = !dock->isFloating() && m_window->dockWidgetArea(dock) == Qt::BottomDockWidgetArea;
    const int share = dock == m_tensorsDock ? 45 : 40; // per cent
    const int wanted = std::min(dock->sizeHint().height(), m_window->height() * share / 100);
    if (dock->isVisible() && isAtBottom && dock->height() < wanted)
        m_window->resizeDocks({dock}, {wanted}, Qt::Vertical);
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
    settings.setValue("window/layout", layoutState());
}

void Panels::restoreLayout() {
    const QSettings settings;
    m_window->restoreGeometry(settings.value("window/geometry").toByteArray());
    m_window->resize(m_window->size().boundedTo(m_room)); // the screen may have been another one
    m_window->restoreState(settings.value("window/layout").toByteArray(), layoutVersion);
}

void Panels::resetLayout() {
    setLayoutState(m_defaultLayout);
}

QByteArray Panels::layoutState() const {
    return m_hiddenLayout.isEmpty() ? m_window->saveState(layoutVersion) : m_hiddenLayout;
}

bool Panels::setLayoutState(const QByteArray& state) {
    const bool isShown = m_hiddenLayout.isEmpty();
    const bool isRestored = m_window->restoreState(state, layoutVersion);
    if (!isRestored)
        m_window->restoreState(m_defaultLayout, layoutVersion);
    m_hiddenLayout.clear();
    setShown(isShown);
    return isRestored;
}

void Panels::showOnly(const std::vector<QString>& names) {
    if (!m_hiddenLayout.isEmpty())
        return;
    for (QDockWidget* dock : m_docks)
        dock->setVisible(std::ranges::find(names, dock->objectName()) != names.end());
    for (const QString& name : names)
        for (QDockWidget* dock : m_docks)
            if (dock->objectName() == name)
                dock->raise();
}

} // namespace secateur
