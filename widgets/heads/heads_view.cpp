#include "widgets/heads/heads_view.h"

#include "analysis/base/text.h"
#include "analysis/session/result_key.h"
#include "widgets/document/commands.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/head_filter.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/heads/heads_cuts.h"
#include "widgets/heads/heads_grid.h"
#include "widgets/heads/heads_threshold.h"
#include "widgets/heads/mask_actions.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/colour_controls.h"
#include "widgets/results/empty_page.h"
#include "widgets/results/metric_names.h"
#include "widgets/results/passed_focus.h"
#include "widgets/results/result_combo.h"

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHBoxLayout>
#include <QKeySequence>
#include <QLabel>
#include <QMenu>
#include <QStackedWidget>
#include <QTimer>
#include <QToolButton>
#include <QToolTip>

#include <algorithm>

namespace secateur {

namespace {

constexpr int headsFrameMs = 16;

bool isShownByHead(const MetricInfo& info) {
    return info.scope == Scope::head || info.scope == Scope::kvGroup;
}

} // namespace

HeadsView::HeadsView(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_selection(selection)
    , m_controls(new QWidget)
    , m_metric(new ResultCombo(document, isShownByHead))
    , m_colours(new ColourControls(
          document, "heads",
          {ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic, ScaleKind::rank, ScaleKind::withinLayer}))
    , m_tools(new QActionGroup(this))
    , m_stack(new QStackedWidget)
    , m_unmeasured(new UnmeasuredPage(document))
    , m_grid(new HeadsGrid(document->masks(), selection, m_stack))
    , m_legend(new HatchLegend)
    , m_maskActions(new MaskActions(document->masks(), selection, m_grid))
    , m_actions(new FigureActions(this, [this] { return currentFigure(); }))
    , m_refresh(new QTimer(this))
    , m_readout(document) {
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    auto* row = new QHBoxLayout(m_controls);
    row->setContentsMargins(8, 6, 8, 6);
    row->setSpacing(6);
    buildControls(*row);
    layout->addWidget(m_controls);
    auto* empty = new QLabel(tr("Drop a model folder or file here"));
    empty->setAlignment(Qt::AlignCenter);
    empty->setEnabled(false);
    m_stack->addWidget(empty);
    m_stack->addWidget(m_grid);
    m_stack->addWidget(m_unmeasured);
    layout->addWidget(m_stack, 1);
    layout->addWidget(m_legend);
    m_legend->hide();
    new PassedFocus(this, [this] { return m_grid; });
    m_grid->setObjectName("headsGrid");
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(headsFrameMs);
    connectAll();
    restore();
}

void HeadsView::buildControls(QHBoxLayout& row) {
    auto* label = new QLabel(tr("&Metric"));
    label->setBuddy(m_metric);
    m_metric->setAccessibleName(tr("Metric"));
    row.addWidget(label);
    row.addWidget(m_metric);
    m_metric->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon); // narrow windows too
    m_metric->setMinimumContentsLength(12);
    m_metric->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_metric->setMaximumWidth(fontMetrics().averageCharWidth() * 44);
    row.addSpacing(8);
    row.addWidget(m_colours);
    row.addStretch();
    m_tools->setExclusionPolicy(QActionGroup::ExclusionPolicy::ExclusiveOptional);
    addTool(row, tr("Lasso"), {}, HeadsGrid::Tool::lasso,
            tr("Draw around the heads to select (or hold Ctrl+Shift and drag)"));
    addTool(row, tr("Shears"), Qt::Key_S, HeadsGrid::Tool::shears,
            tr("Click or drag over heads to cut or restore them (S, or hold Alt)"));
}

void HeadsView::addTool(QHBoxLayout& row, const QString& text, const QKeySequence& keys, HeadsGrid::Tool tool,
                        const QString& help) {
    QAction* action = m_tools->addAction(text);
    action->setCheckable(true);
    action->setToolTip(help);
    action->setWhatsThis(help);
    action->setData(static_cast<int>(tool));
    action->setShortcut(keys);
    action->setShortcutContext(Qt::WidgetShortcut);
    m_grid->addAction(action);
    auto* button = new QToolButton;
    button->setDefaultAction(action);
    button->setAutoRaise(true);
    button->setAccessibleName(tr("%1 tool").arg(text));
    row.addWidget(button);
}

void HeadsView::connectAll() {
    connect(m_refresh, &QTimer::timeout, this, &HeadsView::refresh);
    connect(m_document, &Document::opened, this, &HeadsView::restore);
    connect(m_document->measurements(), &Measurements::resultChanged, this, [this](const QString& id) {
        if (parseResultKey(resultId()).resultId == id.toStdString() && !m_refresh->isActive())
            m_refresh->start();
    });
    connect(m_document->measurements(), &Measurements::stateChanged, this, &HeadsView::showPage);
    connect(m_document->comparison(), &Comparison::changed, this, &HeadsView::refresh);
    connect(m_metric, &QComboBox::currentIndexChanged, this, [this] {
        refresh();
        emit resultShown(QString::fromStdString(resultId()));
    });
    connect(m_metric, &QComboBox::activated, this, &HeadsView::keep);
    connect(m_colours, &ColourControls::changed, this, &HeadsView::refresh);
    connect(m_tools, &QActionGroup::triggered, this, [this] {
        const QAction* chosen = m_tools->checkedAction();
        m_grid->setTool(chosen ? static_cast<HeadsGrid::Tool>(chosen->data().toInt()) : HeadsGrid::Tool::select);
    });
    connect(m_grid, &HeadsGrid::hinted, this, &HeadsView::updateHoverText);
    for (const auto signal : {&MaskEditor::maskChanged, &MaskEditor::protectionChanged})
        connect(m_document->masks(), signal, this, &HeadsView::updateHoverText);
    connect(m_document->masks(), &MaskEditor::listChanged, this, &HeadsView::showLegend);
    connect(m_grid, &HeadsGrid::toolTipRequested, this, &HeadsView::showToolTip);
    connect(m_actions, &FigureActions::failed, this, &HeadsView::failed);
    m_actions->setCommandCopier([this] {
        const bool isMarked = currentFigure().mask.has_value();
        if (isMarked)
            emit maskedFigureWanted(figureText());
        return isMarked;
    });
    connect(m_selection, &Selection::hoverChanged, this, &HeadsView::updateHoverText);
    connect(m_selection, &Selection::changed, this, &HeadsView::updateHoverText);
}

void HeadsView::updateHoverText() {
    const std::optional<HeadId> head = m_selection->hovered() ? m_selection->hovered() : m_selection->active();
    const QString text = !m_grid->hint().isEmpty() ? m_grid->hint() : head ? m_readout.describe(*head) : QString();
    m_grid->setAccessibleDescription(text);
    emit hoverText(text);
}

void HeadsView::showLegend() {
    const MaskEditor& masks = *m_document->masks();
    m_legend->setVisible(masks.compared());
    m_legend->setNames(QString::fromStdString(masks.state().edited().name),
                       QString::fromStdString(masks.comparedName()));
}

/// Shows the open model with the view settings stored in the session.
void HeadsView::restore() {
    const auto& view = m_document->session().view;
    const auto metric = view.find("heads.metric");
    m_colours->restore();
    if (metric == view.end() || !m_metric->choose(QString::fromStdString(metric->second)))
        m_metric->setCurrentIndex(0);
    m_grid->setModel(m_document->spec());
    m_controls->setEnabled(m_document->isOpen());
    refresh();
}

void HeadsView::keep() {
    if (m_document->isOpen())
        m_document->setView("heads.metric", resultId());
}

void HeadsView::showMetric(const QString& id) {
    if (m_metric->choose(id))
        keep();
}

QList<QAction*> HeadsView::tools() const {
    return m_tools->actions();
}

std::string HeadsView::resultId() const {
    return m_metric->key();
}

std::string HeadsView::shownKey() const {
    return m_document->comparison()->keyOf(resultId());
}

void HeadsView::showPage() {
    const bool isMissing = m_unmeasured->isNeeded({shownKey()});
    QWidget* page = isMissing ? static_cast<QWidget*>(m_unmeasured) : m_grid;
    m_stack->setCurrentWidget(m_document->isOpen() ? page : m_stack->widget(0));
}

void HeadsView::refresh() {
    m_readout.setResult(shownKey());
    const MetricResult* shown = m_readout.result();
    const bool isDifference = parseResultKey(shownKey()).subtracted.has_value();
    m_colours->offer(shown ? shown->values.values() : std::span<const double>(), isDifference);
    m_actions->setEnabled(shown);
    const Figure figure = currentFigure();
    const QString label = shown ? QString::fromStdString(colourBarLabel(figure)) : QString();
    const Matrix values = shown ? m_readout.perHead(onScale(figure.cells, figure.scale.kind)) : m_readout.perHead();
    const QStringList classes = shown ? classNames(*shown->request.info) : QStringList();
    m_colours->setVisible(classes.isEmpty());
    m_grid->setValues(values, figure.scale, label, m_readout.isByGroup(), classes);
    m_grid->threshold()->setScale(figure.scale.kind, figure.cells);
    offerThreshold();
    updateHoverText();
    showPage();
}

void HeadsView::setFilter(const HeadFilter* filter) {
    m_filter = filter;
    m_grid->setFilter(filter);
    connect(filter, &HeadFilter::changed, this, &HeadsView::offerThreshold);
    offerThreshold();
}

void HeadsView::offerThreshold() {
    const MetricResult* shown = m_readout.result();
    if (!shown || !m_filter || !m_filter->isActive()) {
        m_grid->threshold()->setResult(shown);
        return;
    }
    const MetricResult passing = resultOfPassing(*shown, m_document->spec(), m_filter->heads());
    m_grid->threshold()->setResult(&passing, m_filter->text().toStdString());
}

Figure HeadsView::currentFigure() const {
    const std::string key = shownKey();
    if (!m_document->measurements()->result(key))
        return {};
    const ModelCard& model = m_document->session().model;
    const ColourScale colours = m_colours->scale();
    Figure figure = headMap(model, m_document->measurements()->labelled(key), colours);
    if (const PruningMask& mask = m_document->masks()->mask(); !mask.keepsAll())
        figure.mask = mask;
    figure.command = plotText(*m_document, figureText());
    return figure;
}

std::string HeadsView::figureText() const {
    return "heads:metric=" + fileForm(parseResultKey(shownKey())) + ":" + colourOptions(m_colours->scale());
}

void HeadsView::showToolTip(const QPoint& globalPosition) {
    const std::optional<HeadId> head = m_selection->hovered();
    const QString text = head ? m_readout.exact(*head) : m_grid->hint();
    if (text.isEmpty())
        QToolTip::hideText();
    else
        QToolTip::showText(globalPosition, text, m_grid);
}

void HeadsView::selectAll() {
    m_grid->selectAll();
}

void HeadsView::resetZoom() {
    m_grid->resetZoom();
}

void HeadsView::copyValues() {
    const QString text = m_readout.copyOf(m_selection->heads());
    if (!text.isEmpty())
        QApplication::clipboard()->setText(text);
}

void HeadsView::contextMenuEvent(QContextMenuEvent* event) {
    if (!m_document->isOpen())
        return;
    const QPoint point = m_grid->mapFrom(this, event->pos());
    const bool byMouse = event->reason() == QContextMenuEvent::Mouse && m_grid->rect().contains(point);
    if (byMouse)
        m_grid->selectForMenu(point);
    m_maskActions->setLayer(byMouse ? m_grid->layerAt(point) : std::nullopt);
    QMenu menu(this);
    fillMenu(&menu);
    menu.exec(event->globalPos());
    m_maskActions->setLayer({});
}

void HeadsView::fillMenu(QMenu* menu) {
    addHeadActions(menu);
    menu->addSeparator();
    m_maskActions->fill(menu);
    menu->addSeparator();
    QAction* values = menu->addAction(tr("Copy selected &values"), this, &HeadsView::copyValues);
    values->setEnabled(m_readout.result() && !m_selection->heads().empty());
    QAction* measuring =
        menu->addAction(tr("Copy metric as co&mmand line"), this, [this] { emit commandWanted({shownKey()}); });
    measuring->setEnabled(m_readout.result());
    menu->addActions(m_actions->actions());
    menu->addSeparator();
    menu->addAction(tr("Select &all"), this, &HeadsView::selectAll);
    menu->addActions(m_tools->actions());
    menu->addAction(tr("&Reset zoom"), this, &HeadsView::resetZoom);
}

void HeadsView::addHeadActions(QMenu* menu) {
    const std::set<HeadId> heads = m_selection->heads();
    const std::optional<HeadId> active = m_selection->active();
    QAction* attention = menu->addAction(tr("Show attentio&n"), this, [this, active] { emit m_grid->opened(*active); });
    attention->setEnabled(active.has_value());
    QAction* filter = menu->addAction(tr("&Filter to these"), this,
                                      [this, heads] { emit filterWanted(QString::fromStdString(ruleOf(heads))); });
    QAction* copy = menu->addAction(heads.size() > 1 ? tr("Cop&y names") : tr("Cop&y name"), this, [heads] {
        QStringList names;
        for (const HeadId& head : heads)
            names << QString::fromStdString(headName(head.layer, head.head));
        QApplication::clipboard()->setText(names.join(' '));
    });
    for (QAction* action : {filter, copy})
        action->setEnabled(!heads.empty());
}

} // namespace secateur
