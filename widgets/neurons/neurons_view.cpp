#include "widgets/neurons/neurons_view.h"

#include "analysis/base/shown_number.h"
#include "analysis/base/statistics.h"
#include "analysis/base/text.h"
#include "analysis/session/result_key.h"
#include "widgets/document/commands.h"
#include "widgets/document/comparison.h"
#include "widgets/document/document.h"
#include "widgets/document/mask_editor.h"
#include "widgets/document/measurements.h"
#include "widgets/layers/layers_panel.h"
#include "widgets/neurons/layer_neurons.h"
#include "widgets/neurons/neuron_threshold.h"
#include "widgets/plot/figure_widget.h"
#include "widgets/results/empty_page.h"
#include "widgets/results/passed_focus.h"
#include "widgets/results/result_combo.h"
#include "widgets/results/scale_combo.h"

#include <QContextMenuEvent>
#include <QElapsedTimer>
#include <QHBoxLayout>
#include <QLabel>
#include <QMenu>
#include <QSplitter>
#include <QStackedWidget>
#include <QTimer>

#include <algorithm>
#include <cstring>
#include <limits>

namespace secateur {

namespace {

constexpr int neuronsFrameMs = 16;
constexpr int summaryMs = 8; ///< time in each frame to compute quantiles

/// Whether two spans are equal bit by bit. Unlike with ==, NaN equals NaN.
bool isSame(std::span<const double> a, std::span<const double> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

} // namespace

NeuronsView::NeuronsView(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent)
    , m_document(document)
    , m_controls(new QWidget)
    , m_metric(new ResultCombo(document, [](const MetricInfo& info) { return info.scope == Scope::neuron; }))
    , m_scale(new ScaleCombo({ScaleKind::automatic, ScaleKind::linear, ScaleKind::logarithmic}))
    , m_stack(new QStackedWidget)
    , m_unmeasured(new UnmeasuredPage(document))
    , m_splitter(new QSplitter(Qt::Vertical))
    , m_panel(new LayersPanel(document->masks(), selection, LayersPlot::Marked::mlp,
                              [this](int layer, bool exact) { return quantilesOf(layer, exact); }))
    , m_plot(m_panel->plot())
    , m_threshold(new NeuronThreshold(document->masks(), this))
    , m_layer(new LayerNeurons(document->masks(), m_threshold, m_splitter))
    , m_cuts(new NeuronCutsRow(m_threshold))
    , m_actions(new FigureActions(this, [this] { return currentFigure(); }))
    , m_refresh(new QTimer(this)) {
    build();
    connectAll();
    restore();
}

void NeuronsView::build() {
    auto* label = new QLabel(tr("&Metric"));
    label->setBuddy(m_metric);
    m_metric->setAccessibleName(tr("Metric"));
    m_metric->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    auto* scale = new QLabel(tr("Sca&le"));
    scale->setBuddy(m_scale);
    m_scale->setAccessibleName(tr("Scale of the values"));
    m_plot->setAccessibleName(tr("Neurons by layer"));
    m_plot->setWhatsThis(
        tr("The distribution of the values of the neurons in each layer. A click or Enter opens the neurons of "
           "a layer below. Space drops the MLPs of the selected layers."));
    auto* row = new QHBoxLayout(m_controls);
    row->setContentsMargins(8, 6, 8, 6);
    row->setSpacing(6);
    row->addWidget(label);
    row->addWidget(m_metric);
    row->addSpacing(8);
    row->addWidget(scale);
    row->addWidget(m_scale);
    row->addStretch();
    m_splitter->addWidget(m_panel);
    m_splitter->addWidget(m_layer);
    m_splitter->setSizes({5000, 4000}); // relative heights
    m_splitter->setStretchFactor(0, 5);
    m_splitter->setStretchFactor(1, 4);
    m_splitter->setChildrenCollapsible(false);
    m_layer->hide();
    m_stack->addWidget(emptyPage(tr("Drop a model folder or file here")));
    m_stack->addWidget(m_unmeasured);
    m_stack->addWidget(m_splitter);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(m_controls);
    layout->addWidget(m_stack, 1);
    layout->addWidget(m_cuts);
    new PassedFocus(this, [this] { return m_plot; });
    m_refresh->setSingleShot(true);
    m_refresh->setInterval(neuronsFrameMs);
}

LayerMarksLegend* NeuronsView::legend() const {
    return m_panel->legend();
}

void NeuronsView::setFilter(const HeadFilter* filter) {
    m_plot->setFilter(filter);
}

void NeuronsView::connectAll() {
    connect(m_refresh, &QTimer::timeout, this, &NeuronsView::refresh);
    connect(m_document, &Document::opened, this, &NeuronsView::restore);
    connect(m_document->measurements(), &Measurements::resultChanged, this, [this](const QString& id) {
        if (parseResultKey(resultId()).resultId == id.toStdString() && !m_refresh->isActive())
            m_refresh->start();
    });
    connect(m_document->measurements(), &Measurements::stateChanged, this, [this] {
        if (!result() && !m_refresh->isActive())
            m_refresh->start(); // the page says what is measured
    });
    connect(m_document->comparison(), &Comparison::changed, this, [this] {
        m_layerIsStale = true;
        refresh();
    });
    connect(m_metric, &QComboBox::currentIndexChanged, this, [this] {
        refresh();
        emit resultShown(QString::fromStdString(resultId()));
    });
    connect(m_metric, &QComboBox::activated, this, &NeuronsView::keep);
    connect(m_scale, &QComboBox::activated, this, [this] {
        keep();
        m_layerIsStale = true;
        refresh();
    });
    connect(m_plot, &LayersPlot::layerActivated, this, &NeuronsView::openLayer);
    connect(m_plot, &LayersPlot::currentLayerChanged, this, [this] {
        if (m_openLayer && m_plot->currentLayer())
            openLayer(*m_plot->currentLayer());
    });
    connect(m_plot, &LayersPlot::cutWanted, this, [this] { m_panel->toggle(LayerUnit::mlp); });
    connect(m_panel, &LayersPanel::hoverText, this, &NeuronsView::hoverText);
    connect(m_layer, &LayerNeurons::closeWanted, this, &NeuronsView::closeLayer);
    connect(m_layer, &LayerNeurons::stepped, m_cuts, &NeuronCutsRow::step);
    m_actions->setCommandCopier([this] {
        const bool isMarked = currentFigure().mask.has_value();
        if (isMarked)
            emit maskedFigureWanted(figureId());
        return isMarked;
    });
    for (const FigureActions* actions : {m_actions, m_layer->figureActions()})
        connect(actions, &FigureActions::failed, this, &NeuronsView::failed);
}

/// Shows the open model with the view settings stored in the session.
void NeuronsView::restore() {
    const auto& view = m_document->session().view;
    const auto kept = [&](const char* name) {
        const auto found = view.find(name);
        return found == view.end() ? QString() : QString::fromStdString(found->second);
    };
    m_scale->restore(view, "neurons");
    m_controls->setEnabled(m_document->isOpen());
    m_plot->setModel(m_document->spec());
    bool isNumber = false;
    const int layer = kept("neurons.layer").toInt(&isNumber);
    const bool isOpen = isNumber && layer >= 0 && layer < m_document->spec().layerCount();
    m_openLayer = isOpen ? std::optional(layer) : std::nullopt;
    m_layerIsStale = true;
    if (!m_metric->choose(kept("neurons.metric")))
        m_metric->setCurrentIndex(0);
    refresh();
}

void NeuronsView::keep() {
    if (!m_document->isOpen())
        return;
    m_document->setView("neurons.metric", resultId());
    m_document->setView("neurons.scale", m_scale->text());
    m_document->setView("neurons.layer", m_openLayer ? std::to_string(*m_openLayer) : std::string());
}

void NeuronsView::showMetric(const QString& id) {
    if (m_metric->choose(id))
        keep();
}

std::string NeuronsView::resultId() const {
    return m_metric->key();
}

std::string NeuronsView::shownKey() const {
    return m_document->comparison()->keyOf(resultId());
}

const MetricResult* NeuronsView::result() const {
    return m_document->measurements()->result(shownKey());
}

void NeuronsView::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    refresh();
}

/// Updates the view. Does nothing while invisible, which is the case when a model is opened.
void NeuronsView::refresh() {
    if (!isVisible())
        return;
    const bool isComplete = summarise(summaryMs);
    draw();
    if (!isComplete)
        m_refresh->start();
}

bool NeuronsView::summarise(int budgetMs) {
    const MetricResult* shown = result();
    const Matrix none;
    const Matrix& values = shown ? shown->values : none;
    if (m_summarised != shownKey() || m_values.rows() != values.rows() || m_values.columns() != values.columns()) {
        m_summarised = shownKey();
        m_values = Matrix(values.rows(), values.columns());
        m_quantiles = Matrix(values.rows(), bandPercents.size());
        m_layerIsStale = true;
    }
    QElapsedTimer timer;
    timer.start();
    for (std::size_t row = 0; row < values.rows(); ++row) {
        if (isSame(values.row(row), m_values.row(row)))
            continue;
        if (timer.elapsed() >= budgetMs)
            return false;
        std::ranges::copy(values.row(row), m_values.row(row).begin());
        std::ranges::copy(percentiles(values.row(row), bandPercents), m_quantiles.row(row).begin());
        m_layerIsStale = m_layerIsStale || m_openLayer == static_cast<int>(row);
    }
    return true;
}

void NeuronsView::draw() {
    m_scale->offer(m_quantiles.values());
    m_actions->setEnabled(result());
    if (!result())
        m_unmeasured->name({shownKey()});
    m_stack->setCurrentIndex(!m_document->isOpen() ? 0 : !result() ? 1 : 2);
    m_cuts->setVisible(result());
    m_threshold->setValues(&m_values, result() ? result()->request : MetricRequest());
    if (!result())
        return;
    Figure figure = bands();
    figure.title.clear(); // the window names the model
    figure.mask.reset();  // LayersPlot marks the cuts, with those of a preview
    m_plot->setFigure(figure);
    showLayer();
}

void NeuronsView::showLayer() {
    const MetricResult* shown = m_openLayer ? result() : nullptr;
    if (shown && m_layerIsStale)
        m_layer->showLayer(m_document->session().model, *shown, *m_openLayer, logarithmic(),
                           plotText(*m_document, figureId() + ":layer=" + std::to_string(*m_openLayer)));
    m_layer->setVisible(shown);
    m_cuts->setLayer(shown ? m_openLayer : std::nullopt);
    m_layerIsStale = false;
}

void NeuronsView::openLayer(int layer) {
    if (m_openLayer == layer)
        return;
    m_openLayer = layer;
    m_layerIsStale = true;
    showLayer();
    keep();
}

void NeuronsView::showNeuron(int layer, int neuron) {
    openLayer(layer);
    m_layer->selectNeuron(layer, neuron);
}

void NeuronsView::closeLayer() {
    m_openLayer.reset();
    showLayer();
    m_plot->setFocus();
    keep();
}

void NeuronsView::copyValues() {
    if (m_openLayer)
        m_layer->copyValues();
}

bool NeuronsView::logarithmic() const {
    return usedScale(m_scale->scale(), m_quantiles.values()) == ScaleKind::logarithmic;
}

std::string NeuronsView::figureId() const {
    return "neurons:metric=" + fileForm(parseResultKey(shownKey())) + ":scale=" + std::string(name(m_scale->scale()));
}

Figure NeuronsView::bands() const {
    Figure figure = neuronBands(m_document->session().model, *result(), m_quantiles, m_scale->scale());
    if (const PruningMask& mask = m_document->masks()->mask(); !mask.keepsAll())
        figure.mask = mask;
    figure.command = plotText(*m_document, figureId());
    return figure;
}

Figure NeuronsView::currentFigure() {
    summarise(std::numeric_limits<int>::max());
    if (result())
        return bands();
    Figure none;
    none.kind = FigureKind::bands;
    return none;
}

QStringList NeuronsView::quantilesOf(int layer, bool exact) const {
    QStringList parts;
    const auto row = static_cast<std::size_t>(layer);
    if (!result() || row >= m_quantiles.rows())
        return parts;
    for (const FigureSeries& quantile : bands().series)
        parts << QString::fromStdString(quantile.label + " = " +
                                        (exact ? exactly(quantile.values[row]) : shownNumber(quantile.values[row])));
    return parts;
}

void NeuronsView::contextMenuEvent(QContextMenuEvent* event) {
    if (!m_document->isOpen())
        return;
    QMenu menu(this);
    m_panel->addCuts(menu, *event);
    QAction* measuring =
        menu.addAction(tr("Copy metric as co&mmand line"), this, [this] { emit commandWanted({shownKey()}); });
    measuring->setEnabled(result());
    menu.addActions(m_actions->actions());
    menu.exec(event->globalPos());
}

} // namespace secateur
