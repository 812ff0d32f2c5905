#include "widgets/window/view_tabs.h"

#include "widgets/attention/attention_run.h"
#include "widgets/attention/attention_view.h"
#include "widgets/curves/curves_view.h"
#include "widgets/document/document.h"
#include "widgets/document/measurements.h"
#include "widgets/document/selection.h"
#include "widgets/gallery/gallery_view.h"
#include "widgets/heads/gradient_view.h"
#include "widgets/heads/heads_view.h"
#include "widgets/layers/layers_view.h"
#include "widgets/neurons/layer_neurons.h"
#include "widgets/neurons/neurons_view.h"
#include "widgets/scatter/scatter_view.h"
#include "widgets/weights/unit_edges.h"
#include "widgets/weights/weights_view.h"

#include <optional>
#include <set>

namespace secateur {

namespace {

/// Items that run a prompt run that of the attention view.
GallerySetup gallerySetup(const AttentionView& attention) {
    GallerySetup setup;
    setup.prompt = [&attention] { return attention.run()->prompt(); };
    return setup;
}

} // namespace

ViewTabs::ViewTabs(Document* document, JobRunner* jobs, Selection* selection, HeadFilter* filter, QWidget* parent)
    : QTabWidget(parent)
    , m_document(document)
    , m_selection(selection)
    , m_heads(add(new HeadsView(document, selection), tr("Heads")))
    , m_layers(add(new LayersView(document, selection), tr("Layers")))
    , m_neurons(add(new NeuronsView(document, selection), tr("Neurons")))
    , m_attention(add(new AttentionView(document, jobs, selection), tr("Attention")))
    , m_scatter(add(new ScatterView(document, jobs, selection, m_heads->maskActions()), tr("Scatter")))
    , m_gradients(add(new GradientView(document, jobs, selection), tr("Gradients")))
    , m_curves(add(new CurvesView(document), tr("Curves")))
    , m_gallery(add(new GalleryView(document, jobs, gallerySetup(*m_attention)), tr("Gallery")))
    , m_weights(add(new WeightsView(document, jobs, selection), tr("Weights"))) {
    setObjectName("viewTabs");
    setDocumentMode(true);
    setAccessibleName(tr("Pictures"));
    m_heads->setFilter(filter);
    m_layers->setFilter(filter);
    m_neurons->setFilter(filter);
    m_attention->setFilter(filter);
    m_scatter->setFilter(filter);
    connect(m_heads->grid(), &HeadsGrid::opened, this, &ViewTabs::showAttention);
    connect(m_scatter, &ScatterView::opened, this, &ViewTabs::showAttention);
    connect(m_scatter, &ScatterView::layerOpened, this, [this](int layer) {
        m_neurons->openLayer(layer);
        setCurrentWidget(m_neurons);
    });
    connect(m_heads, &HeadsView::resultShown, this, &ViewTabs::shownChanged);
    connect(m_heads, &HeadsView::filterWanted, this, &ViewTabs::filterWanted);
    connect(m_neurons, &NeuronsView::resultShown, this, &ViewTabs::shownChanged);
    connect(m_weights, &WeightsView::unitWanted, this, &ViewTabs::showUnit);
    connect(m_curves, &CurvesView::sweepWanted, this, &ViewTabs::sweepWanted);
    connect(this, &QTabWidget::currentChanged, this, &ViewTabs::shownChanged);
}

template <typename View>
View* ViewTabs::add(View* view, const QString& title) {
    addTab(view, title);
    connect(view, &View::failed, this, &ViewTabs::failed);
    if constexpr (requires { &View::hoverText; })
        connect(view, &View::hoverText, this, [this, view](const QString& text) {
            if (currentWidget() == view)
                emit hoverText(text);
        });
    if constexpr (requires { &View::maskedFigureWanted; })
        connect(view, &View::maskedFigureWanted, this, &ViewTabs::maskedFigureWanted);
    if constexpr (requires { &View::commandWanted; })
        connect(view, &View::commandWanted, this, &ViewTabs::commandWanted);
    return view;
}

void ViewTabs::showTab(const QString& id) {
    setCurrentWidget(id == "layers"      ? static_cast<QWidget*>(m_layers)
                     : id == "neurons"   ? static_cast<QWidget*>(m_neurons)
                     : id == "attention" ? static_cast<QWidget*>(m_attention)
                     : id == "scatter"   ? static_cast<QWidget*>(m_scatter)
                     : id == "gradients" ? static_cast<QWidget*>(m_gradients)
                     : id == "curves"    ? static_cast<QWidget*>(m_curves)
                     : id == "gallery"   ? static_cast<QWidget*>(m_gallery)
                     : id == "weights"   ? static_cast<QWidget*>(m_weights)
                     : id == "norms"     ? static_cast<QWidget*>(m_weights)
                     : id == "sheet"     ? static_cast<QWidget*>(m_attention)
                                         : m_heads);
    m_attention->showAllHeads(id == "sheet");
    m_weights->showNeurons(id == "norms");
    if (id == "neurons" && m_selection->active())
        m_neurons->openLayer(m_selection->active()->layer);
}

QString ViewTabs::currentTab() const {
    const QWidget* shown = currentWidget();
    return shown == m_layers      ? "layers"
           : shown == m_neurons   ? "neurons"
           : shown == m_attention ? (m_attention->showsAllHeads() ? "sheet" : "attention")
           : shown == m_scatter   ? "scatter"
           : shown == m_gradients ? "gradients"
           : shown == m_curves    ? "curves"
           : shown == m_gallery   ? "gallery"
           : shown == m_weights   ? (m_weights->showsNeurons() ? "norms" : "weights")
                                  : "heads";
}

void ViewTabs::showAttention(HeadId head) {
    m_attention->showHead(head);
    setCurrentWidget(m_attention);
}

void ViewTabs::showResult(const QString& key) {
    const MetricResult* result = m_document->measurements()->result(key.toStdString());
    if (!result)
        return;
    if (result->request.info->scope == Scope::neuron) {
        m_neurons->showMetric(key);
        setCurrentWidget(m_neurons);
    } else if (result->request.info->scope == Scope::layer) {
        QStringList chosen = m_layers->chosenMetrics();
        if (!chosen.contains(key))
            m_layers->chooseMetrics(chosen << key);
        setCurrentWidget(m_layers);
    } else {
        m_heads->showMetric(key);
        setCurrentWidget(m_heads);
    }
}

void ViewTabs::addResult(const QString& key) {
    const MetricResult* result = m_document->measurements()->result(key.toStdString());
    if (!result)
        return;
    const MetricInfo& info = *result->request.info;
    if (currentWidget() != m_layers || info.scope == Scope::neuron || !info.classes.empty()) {
        showResult(key);
        return;
    }
    QStringList chosen = m_layers->chosenMetrics();
    if (!chosen.contains(key))
        m_layers->chooseMetrics(chosen << key);
}

void ViewTabs::goTo(HeadId head) {
    setCurrentWidget(m_heads);
    m_selection->select({head}, Selection::Mode::replace, head);
    m_heads->setFocus();
}

void ViewTabs::showHead(HeadId head) {
    if (currentWidget() != m_attention && currentWidget() != m_scatter && currentWidget() != m_weights)
        setCurrentWidget(m_heads);
    m_selection->select({head}, Selection::Mode::replace, head);
    m_heads->grid()->reveal(head);
    currentWidget()->setFocus();
}

void ViewTabs::showUnit(const MarkedUnit& unit) {
    const std::vector<HeadId> heads = headsOf(m_document->spec(), unit);
    if (heads.empty()) {
        m_neurons->showNeuron(unit.layer, unit.index);
        setCurrentWidget(m_neurons);
        return;
    }
    setCurrentWidget(m_heads);
    m_selection->select(std::set<HeadId>(heads.begin(), heads.end()), Selection::Mode::replace, heads.front());
    m_heads->grid()->reveal(heads.front());
}

void ViewTabs::showLayer(int layer) {
    std::set<HeadId> heads;
    for (int head = 0; head < m_document->spec().layers[static_cast<std::size_t>(layer)].heads; ++head)
        heads.insert({layer, head});
    m_selection->select(heads, Selection::Mode::replace, heads.empty() ? std::optional<HeadId>() : HeadId{layer, 0});
    if (currentWidget() == m_neurons)
        m_neurons->openLayer(layer);
    else if (heads.empty())
        setCurrentWidget(m_layers);
    m_heads->grid()->reveal({layer, 0});
    currentWidget()->setFocus();
}

std::vector<std::string> ViewTabs::shownKeys() const {
    const QWidget* shown = currentWidget();
    return shown == m_layers    ? m_layers->shownIds()
           : shown == m_neurons ? std::vector{m_neurons->resultId()}
           : shown == m_scatter ? m_scatter->keys()
                                : std::vector{m_heads->resultId()};
}

QString ViewTabs::mainKey() const {
    const QWidget* shown = currentWidget();
    return shown == m_heads     ? QString::fromStdString(m_heads->resultId())
           : shown == m_neurons ? QString::fromStdString(m_neurons->resultId())
                                : QString();
}

FigureActions* ViewTabs::figureActions() const {
    const QWidget* shown = currentWidget();
    return shown == m_layers      ? m_layers->figureActions()
           : shown == m_neurons   ? m_neurons->figureActions()
           : shown == m_attention ? m_attention->figureActions()
           : shown == m_scatter   ? m_scatter->figureActions()
           : shown == m_gradients ? m_gradients->figureActions()
           : shown == m_curves    ? m_curves->figureActions()
           : shown == m_gallery   ? m_gallery->figureActions()
           : shown == m_weights   ? m_weights->figureActions()
                                  : m_heads->figureActions();
}

void ViewTabs::copyValues() {
    if (currentWidget() == m_neurons)
        m_neurons->copyValues();
    else if (currentWidget() == m_scatter)
        m_scatter->copyValues();
    else
        m_heads->copyValues();
}

void ViewTabs::resetZoom() {
    if (currentWidget() == m_scatter)
        m_scatter->resetZoom();
    else
        m_heads->resetZoom();
}

void ViewTabs::selectAll() {
    if (m_neurons->layerNeurons()->hasRowsInFocus())
        m_neurons->layerNeurons()->selectAll();
    else if (currentWidget() == m_scatter)
        m_scatter->selectAll();
    else
        m_heads->selectAll();
}

} // namespace secateur
